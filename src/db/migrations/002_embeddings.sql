-- What tools mean, one row per model and text. Texts are known by their hash, so that nothing is embedded twice.
create table tool_embedding (
  id        integer generated always as identity primary key,
  model     text not null,
  hash      text not null,
  embedding real[] not null,
  used_on   date not null default current_date,
  unique (model, hash)
);
-- Where pgvector is, it compares the vectors; elsewhere they are compared in process.
do $$ begin
  if exists (select 1 from pg_extension where extname = 'vector') then
    alter table tool_embedding alter column embedding type vector;
  end if;
end $$;
