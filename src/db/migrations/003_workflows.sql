-- One row per run. Whoever runs it holds the lease and knows the epoch; every row of its journal is written under that
-- epoch, so that a runner that was taken for dead can write nothing any more.
create table workflow_run (
  id          text primary key,
  name        text not null,
  status      text not null,
  cwd         text not null,
  fingerprint text not null,
  -- The servers it needs, and the names (never the values) of the variables that start them.
  servers     jsonb not null,
  variables   jsonb not null,
  summary     text not null,
  epoch       integer not null,
  lease_until timestamptz not null,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);
create index workflow_run_status on workflow_run (status, updated_at);

-- Append-only; without a foreign key, which would cost more than the row. JSON as text: what a tool said is kept to the
-- letter, a NUL character included, which json and jsonb refuse.
create table workflow_event (
  run     text not null,
  seq     integer not null,
  -- Of the runner that wrote it.
  epoch   integer not null,
  at      double precision not null,
  kind    text not null,
  task    text,
  attempt integer,
  payload text not null,
  primary key (run, seq)
);

-- What the rows up to `seq` add up to.
create table workflow_snapshot (
  run   text primary key,
  seq   integer not null,
  state text not null
);

-- What a run that is not over has put aside stays, whatever its age and the quota say.
alter table result_handle add column run text;
