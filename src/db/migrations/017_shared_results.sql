-- The values that runs have put aside, where engines share a database: another engine that goes on with a run needs them.
-- JSON as text: what a tool said is kept to the letter.
create table result_value (
  handle text primary key references result_handle on delete cascade,
  value  text not null
);
