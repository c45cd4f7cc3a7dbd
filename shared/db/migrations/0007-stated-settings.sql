-- What code stated last. A deployment, a rollback included, takes back what it no longer states, unless somebody has set it to something else since.

-- By column, for the settings that may be left out.
alter table waybill.manifest add column stated jsonb not null default '{}';
-- By owner and column: several apps may share a group.
alter table waybill.manifest_group add column stated jsonb not null default '{}';
