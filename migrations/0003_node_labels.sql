-- Which pods a node accepts: its labels, and the taints that keep pods away. Empty labels mean that the agent did not
-- tell them yet.
alter table node add column labels jsonb not null default '{}';
alter table node add column taints jsonb not null default '[]';
