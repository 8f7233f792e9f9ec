-- What stands behind the tokens that agents see instead of personal data, and which servers have told it.
create table pii_value (
  token   text primary key,
  -- As JSON: a configured pattern may match anything.
  value   text not null,
  servers jsonb not null,
  seen_at timestamptz not null default now()
);
