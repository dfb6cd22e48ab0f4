-- Preemption: what queues say about it, who was asked to stop for whom, and the room that is being made.

-- Kueue's words; null: as the queue above says.
alter table queue add column preempt_within text;
alter table queue add column preempt_reclaim text;

-- The manifest says that the job goes on from its last checkpoint when it starts again.
alter table job add column resumes boolean not null default false;
-- A manifest may hold NUL, which jsonb does not take.
update job set resumes = true
where state not in ('succeeded', 'failed', 'cancelled')
  and case when strpos(rayjob, '\u0000') > 0 then false
           else rayjob::jsonb #>> '{metadata,annotations,squadron.dev/resumes}' = 'true' end;

-- When the attempt was asked to stop for another job, and for which.
alter table attempt add column stop_asked_at timestamptz;
alter table attempt add column makes_room_for uuid references job (id);
create index attempt_makes_room on attempt (makes_room_for) where makes_room_for is not null;

-- A waiting job for which others stop, and the cluster where the room is then its own. It holds while the job has no newer
-- attempt than it had when room was made.
create table claim (
    job_id      uuid primary key references job (id),
    cluster_id  uuid not null references cluster (id),
    after_attempt integer not null,
    made_at     timestamptz not null
);
