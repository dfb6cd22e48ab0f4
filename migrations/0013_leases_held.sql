-- Attempts that may still run, by cluster: read in pages when a cluster is lost.
create index attempt_held on attempt (cluster_id, job_id) where ended_at is null;

-- A duty is free when its row stood still on the taker's own clock, so no wall time is kept. The timeline is the database's
-- when the duty was taken: a failover moves it and ends the term.
alter table duty_term add column beat bigint not null default 0;
alter table duty_term add column timeline bigint not null default 0;
alter table duty_term drop column expires_at;
