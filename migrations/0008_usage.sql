-- What the attempt's queue is charged until the attempt is over and its pods are gone, by flavor:
-- {"h100":{"cpu_milli":…,"memory_bytes":…,"gpus":…}}. Empty when no flavor was declared when it was assigned.
alter table attempt add column usage jsonb not null default '{}';
-- Jobs of a queue are read in the order in which they are looked at.
create index job_queued_by_priority on job (queue, priority desc, submitted_at, id) where state = 'queued';
