-- What changed in the set of attempts that a cluster should hold, and when, so that a stream carries changes.

-- The cluster's generation of the attempt's last change, and that in which it was given; 0: nobody noted it.
alter table attempt add column changed_generation bigint not null default 0;
alter table attempt add column first_generation bigint not null default 0;
-- How many generations were noted that way. One that grows without this number makes every stream send its whole set.
alter table cluster add column marked_generation bigint not null default 0;

create index attempt_desired_change on attempt (cluster_id, changed_generation, job_id, number) where desired;
create index attempt_released_change on attempt (cluster_id, changed_generation, job_id, number) where not desired;
drop index attempt_desired;

-- What is to be told to a cluster, those that became jobs first.
create index arrival_told_first on arrival (cluster_id, (job_id is null), uid) where gone_at is null and settled_at is null;
drop index arrival_told;
