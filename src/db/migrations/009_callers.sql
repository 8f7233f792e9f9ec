-- Who made a call: agent, code, human or speculation; its client and folder; the run and task it belongs to.
alter table tool_call
  add column made_by text,
  add column client text,
  add column folder text,
  add column run text,
  add column task text;
