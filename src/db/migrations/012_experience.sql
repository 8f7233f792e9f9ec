-- Tools that were called after a search: its words, and by how much the tool was behind the first one in the answer.
create table search_judgement (
  -- A hash of scope, request and tool.
  id      text primary key,
  scope   text not null,
  request text not null,
  tool    text not null,
  missing real not null,
  used_at timestamptz not null default now()
);
create index search_judgement_used on search_judgement (scope, used_at);

-- Workflows that succeeded, with the words that said their purpose.
create table episode (
  -- A hash of scope, intent and tasks.
  id      text primary key,
  scope   text not null,
  intent  text not null,
  -- Tasks as JSON text: kept to the letter.
  tasks   text not null,
  right_times integer not null,
  wrong_times integer not null,
  used_at timestamptz not null default now()
);
create index episode_used on episode (scope, used_at);
