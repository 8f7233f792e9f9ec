-- Tools whose results did not fit the output schema that the tools themselves declare.
create table result_misfit (
  tool    text primary key,
  misfits integer not null,
  -- The newest, by the schema's words: no value of a result.
  problem text not null,
  at      timestamptz not null default now()
);
