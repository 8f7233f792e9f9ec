-- How often what came next in one place. For exact calls `next` is a recipe, and `hits` of `seen` times it came true.
create table tool_habit (
  -- A hash of scope, place and next, which may be longer than an index takes.
  id      text primary key,
  -- Whose habit it is: what a project's servers are called means something in that project only.
  scope   text not null,
  place   text not null,
  next    text not null,
  seen    integer not null,
  hits    integer,
  used_at timestamptz not null default now()
);
create index tool_habit_used on tool_habit (used_at);

-- Which tool came after which, and which output went into which input (`path` is empty for mere sequence).
create table tool_dependency (
  id      text primary key,
  scope   text not null,
  source  text not null,
  target  text not null,
  path    text not null,
  seen    integer not null,
  failed  integer not null,
  used_at timestamptz not null default now()
);

-- What is learned about learning: thresholds and counters, by name.
create table learned_state (
  name  text primary key,
  value jsonb not null
);

-- Workflows that were saved under a name, with what may differ from one run to the next.
create table workflow_template (
  name        text primary key,
  description text not null,
  parameters  jsonb not null,
  -- Tasks as JSON text: kept to the letter.
  tasks       text not null,
  created_at  timestamptz not null default now()
);
