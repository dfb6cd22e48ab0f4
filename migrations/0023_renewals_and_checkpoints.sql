-- Renewals of a cluster that were answered and counted, over all lives of its agent: a life that knows of far fewer belongs to a
-- copy of the past. 0 for a cluster whose agent does not count them.
alter table cluster add column renewals bigint not null default 0;

-- When the job last wrote a checkpoint in this attempt, as far as it said.
alter table attempt add column checkpointed_at timestamptz;
