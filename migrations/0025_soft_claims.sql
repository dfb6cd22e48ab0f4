-- Soft claims: how far worker groups of an attempt may grow where that is less than they ask for.

-- core::dispatch::soft::Caps: by worker group, the most pods and the names of those that go; part of the desired set.
alter table attempt add column caps jsonb not null default '{}';
-- When they were last changed, the job that the room is for, and a sentence.
alter table attempt add column capped_at timestamptz;
alter table attempt add column capped_for uuid references job (id);
alter table attempt add column capped_because text not null default '';
create index attempt_capped on attempt (job_id) where ended_at is null and caps <> '{}';
