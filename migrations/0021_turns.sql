-- Where a queue has too many classes of waiting jobs for one pass: the last one whose turn it was, null at the end of a round.
alter table queue add column looked_after uuid;

-- Since when the dispatcher has found no job of a class that waits; null while it finds some. Such a class is removed after a while.
alter table job_class add column idle_since timestamptz default now();
update job_class set idle_since = null where borrows is not null;
create index job_class_idle on job_class (idle_since) where idle_since is not null;

-- Length of the manifest of the job, so that the size of a desired set is counted without its jobs; null where an older version
-- made the attempt.
alter table attempt add column manifest_bytes bigint;
update attempt set manifest_bytes = octet_length(job.rayjob) from job where job.id = attempt.job_id and attempt.desired;
