-- As text: jsonb orders keys anew, and a definition that comes back in another order is another text to search and read.
alter table tool_schema alter column definition type text using definition::text;
