-- Workflows that a person has switched on: a file, as the hash of its text. Times are milliseconds of the epoch.
create table workflow_trigger (
  path    text primary key,
  name    text not null,
  -- The project's folder; null for a file of the home.
  folder  text,
  hash    text not null,
  since   double precision not null,
  -- The reason why it does not start any more, although nobody has switched it off.
  stopped text
);

-- One row for each cause of a start, before the start: a cause that has a row never starts a second run.
create table trigger_start (
  path   text not null,
  cause  text not null,
  at     double precision not null,
  -- waiting, started, over, failed, skipped; seen: it was there before.
  state  text not null,
  run    text,
  -- JSON: the number of the entry in `on`, the values of the cause, the workflows that led to it, and why it was skipped.
  detail text not null,
  primary key (path, cause)
);
create index trigger_start_open on trigger_start (path, at) where state in ('waiting', 'started');
create index trigger_start_last on trigger_start (path, at);
