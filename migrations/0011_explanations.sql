-- What the dispatcher decided about a job, and when: every placement, and every change of the causes for which it waits.
-- Consecutive decisions for the same causes are one row, with how often it was told anew and when last.
create table decision (
    job_id      uuid not null references job (id),
    -- counts from 1 in each job; the oldest that are no placements are not kept for ever
    number      integer not null,
    -- of a placement
    attempt     integer,
    -- assigned or blocked
    outcome     text not null,
    -- the causes of a wait with their clusters, or the term that chose the cluster
    cause       text not null,
    sentence    text not null,
    -- cluster of a placement
    cluster     text not null default '',
    -- candidates with every term, and what the other clusters lacked
    choice      jsonb not null default '{"candidates":[],"refused":[],"left_out":0}',
    blockers    jsonb not null default '[]',
    queue_position integer,
    -- of the leader that decided
    term        bigint not null,
    first_at    timestamptz not null,
    last_at     timestamptz not null,
    times       bigint not null default 1,
    primary key (job_id, number)
);

-- What was said about the time that a job will wait, whenever its place in the queue had halved; placed_at is what came true.
-- Both times are by the control plane's clock.
create table estimate (
    job_id      uuid not null references job (id),
    position    integer not null,
    queue       text not null,
    size_class  smallint not null,
    at          timestamptz not null,
    -- from `at`, in milliseconds; null where there was no basis
    p50_ms      bigint,
    p90_ms      bigint,
    placed_at   timestamptz,
    primary key (job_id, position)
);
create index estimate_of_queue on estimate (queue, placed_at desc) where placed_at is not null;

-- The line of a queue as the dispatcher wrote it; jobs that it has not looked at yet stand at its end.
create index job_in_line on job (queue, (coalesce(queue_position, 2147483647)), id) where state = 'queued';
