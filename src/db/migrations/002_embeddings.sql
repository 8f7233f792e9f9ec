-- What tools mean, one row per model and text. Texts are known by their hash, so that nothing is embedded twice.
create table tool_embedding (
  id        integer generated always as identity primary key,
  model     text not null,
  hash      text not null,
  embedding vector not null,
  used_on   date not null default current_date,
  unique (model, hash)
);
