-- Leases: what a job wants when its cluster is lost, who accepted an attempt, and each cluster's newest renewal.

-- wait, fence or rerun; chosen when the job is submitted, with the reason.
alter table job add column on_lost text not null default 'wait';
alter table job add column on_lost_because text not null default 'it was submitted before jobs could choose';

-- For jobs that ask for nothing; empty: as the job says of itself.
alter table queue add column on_lost text not null default '';
-- An administrator allows two copies of a job at once.
alter table queue add column allows_overlap boolean not null default false;

-- The life of the agent whose acceptance was committed; 0 for one that cannot be named; null while it is only offered.
alter table attempt add column accepted_epoch bigint;
-- Why it was closed as lost: the word of the proof; empty for every other end.
alter table attempt add column proof text not null default '';
-- What was given before acceptances existed may run.
update attempt set accepted_epoch = 0;

-- The newest renewal and the lease that was promised with it, in milliseconds; 0: its agent holds no lease.
alter table cluster add column lease_epoch bigint not null default 0;
alter table cluster add column lease_number bigint not null default 0;
alter table cluster add column lease_ms bigint not null default 0;

create index job_silent on job (id) where reason = 'CLUSTER_SILENT';
