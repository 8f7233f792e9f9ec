-- The client's request that started a run, and the one that decided about it: the connection's name, the request's id and
-- a digest of its content. After a crash the request is sent again and finds its run by this key.
alter table workflow_run add column request text;
create index workflow_run_request on workflow_run (request) where request is not null;
alter table workflow_event add column request text;
create index workflow_event_request on workflow_event (request) where request is not null;
