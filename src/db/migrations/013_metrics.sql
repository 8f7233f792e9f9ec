-- Calls by hour and, when they are older, by day: per tool, client and maker, and per slot of a logarithmic scale of
-- durations, four slots for each doubling, out of which any percentile can be told within 10 %.
create table telemetry_metrics (
  span      text not null,
  at        timestamptz not null,
  tool      text not null,
  client    text not null,
  made_by   text not null,
  slot      smallint not null,
  calls     integer not null,
  failed    integer not null,
  ms        double precision not null,
  bytes_in  bigint not null,
  bytes_out bigint not null,
  kept      bigint not null,
  primary key (span, at, tool, client, made_by, slot)
);
create index telemetry_metrics_at on telemetry_metrics (at);
