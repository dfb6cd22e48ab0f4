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
