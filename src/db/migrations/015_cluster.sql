-- Engines that share this database. Times are the server's own: the clocks of engines may differ.
create table engine (
  id         text primary key,
  host       text not null,
  home       text not null,
  owner      text not null,
  pid        integer not null,
  version    text not null,
  -- Counts the starts of the engine; a process that was replaced has an older one.
  epoch      integer not null,
  -- active, draining, ended
  state      text not null,
  started_at timestamptz not null default now(),
  seen_at    timestamptz not null default now()
);

-- Folders in which an engine has had a connection, and the servers that it can reach from there.
create table context (
  engine       text not null references engine on delete cascade,
  folder       text not null,
  repository   text,
  servers      jsonb not null,
  is_connected boolean not null,
  seen_at      timestamptz not null default now(),
  primary key (engine, folder)
);

alter table workflow_run
  -- The machine of the folder.
  add column host text,
  add column priority smallint,
  -- The engine that is about to take it up; nobody else does until the lease is over.
  add column claimed_by text,
  -- True if a person has decided about it where nobody could carry it on.
  add column is_decided boolean,
  -- The engine that had it when its lease ran out, and the time of the take-over.
  add column taken_from text,
  add column taken_at timestamptz,
  -- The person whose run it is; others see it where `share` is team.
  add column owner text,
  add column share text;
