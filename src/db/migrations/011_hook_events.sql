-- Events that clients report by their hooks: prompts, uses of their own tools, ends of turns.
create table hook_event (
  id text primary key,
  at timestamptz not null,
  client text not null,
  event text not null,
  session text,
  agent text,
  task text,
  tool text,
  folder text,
  is_direct boolean not null,
  content jsonb not null
);
create index hook_event_at on hook_event (at);
