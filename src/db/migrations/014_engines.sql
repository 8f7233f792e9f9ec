-- The engine that runs a run or ran it last, where several share a database; null where one engine has it to itself.
alter table workflow_run add column engine text;
create index workflow_run_engine on workflow_run (engine) where status = 'running';
