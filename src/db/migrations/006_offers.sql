-- What a server offers besides tools: resources, resource templates, prompts.
alter table server_catalogue add column offers jsonb;
