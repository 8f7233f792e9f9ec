-- What each server offers, keyed by the fingerprint of its definition, so that knowing its tools needs no running server.
create table server_catalogue (
  fingerprint  text primary key,
  server       text not null,
  era          jsonb,
  era_at       timestamptz,
  instructions text,
  dropped      jsonb not null default '[]',
  repaired     jsonb not null default '[]',
  start_ms     integer,
  listed_at    timestamptz not null default now()
);

-- The last thing that went wrong with a server, until it starts well again.
create table server_failure (
  fingerprint text primary key,
  reason      text not null,
  at          timestamptz not null default now()
);

create table tool_schema (
  fingerprint text not null references server_catalogue on delete cascade,
  name        text not null,
  position    integer not null,
  hash        text not null,
  definition  jsonb not null,
  primary key (fingerprint, name)
);

-- One row per call, written after its answer went out.
create table tool_call (
  id    bigint generated always as identity primary key,
  at    timestamptz not null default now(),
  tool  text not null,
  ms    real not null,
  ok    boolean not null,
  bytes integer not null
);
create index tool_call_at on tool_call (at);

-- Answers too large for a context window; the content lies in a file of that name.
create table result_handle (
  handle     text primary key,
  tool       text not null,
  bytes      bigint not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
