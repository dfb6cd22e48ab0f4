-- What is learnt from attempts that end: how long jobs like each other run, and how much queues used lately.

-- What a job runs, by core::dispatch::program; empty for jobs of older versions.
alter table job add column program text not null default '';

-- Run times of the last attempts that ended by themselves. Besides those of a queue, a size and a program there are those of
-- the whole queue (gpus -1, program '') and of all queues (queue '' as well).
create table run_time (
    queue       text not null,
    gpus        bigint not null,
    program     text not null,
    -- milliseconds, the oldest first
    ran_ms      jsonb not null,
    -- how far off their median was: attempts that ended since there were enough, those of them that ran between half and twice
    -- as long, and those that ended by the time by which nine of ten did
    judged      bigint not null,
    within_twice bigint not null,
    by_late     bigint not null,
    learnt_at   timestamptz not null,
    primary key (queue, gpus, program)
);
create index run_time_learnt on run_time (learnt_at);

-- GPU seconds that a job of the class is expected to take, as the dispatcher last looked at it; 0 while nothing is known.
alter table job_class add column size double precision not null default 0;
create or replace view job_told as
select j.id as job_id, c.borrows, coalesce(o.reason, c.reason) as reason, coalesce(o.sentence, c.sentence) as sentence,
       coalesce(o.blockers, c.blockers) as blockers, coalesce(o.note, '') as note,
       coalesce(o.decided_at, c.decided_at) as decided_at, c.size
from job j
left join job_class c on c.id = j.class_id
left join own_wait o on o.job_id = j.id
where j.state = 'queued' and (c.borrows is not null or o.job_id is not null);

-- Whether sizes made the order of a long line when it was counted, and where its marks stood in that order.
alter table line add column by_size boolean not null default false;
alter table line_mark add column urgency double precision not null default 0;
create index line_mark_in_order on line_mark (queue, negated, urgency, submitted_at, job_id);

-- What attempts of a queue that have ended took, as core::dispatch::lately counts it: GPU seconds as they weighed at that moment.
create table queue_use (
    queue       text primary key references queue (name) on delete cascade,
    gpu_seconds double precision not null,
    at          timestamptz not null
);
