-- Waiting jobs by what makes them equal to the dispatcher. What such a class waits for is written once for all of its jobs,
-- and where a job stands in its queue is counted when somebody asks, so that a pass writes nothing per job that waits.
-- The columns blockers, queue_position, queue_length and decided_at of job are not written any more.

create table job_class (
    -- from the content of queue and shape
    id          uuid primary key,
    queue       text not null references queue (name) on delete cascade,
    -- priority, pin, size of the manifest, and the requests of every pod of the gang
    shape       jsonb not null,
    -- why its jobs wait, as the dispatcher wrote it when it last looked; decided_at is null while none of them does
    reason      text not null default '',
    cause       text not null default '',
    blockers    jsonb not null default '[]',
    -- what is said of one job alone
    note        text not null default '',
    note_job    uuid,
    -- since when it is for these causes
    since       timestamptz,
    decided_at  timestamptz
);
create index job_class_waits on job_class (id) where decided_at is not null;

-- Each change of the causes for which a class waits: what decision has for a job, for all jobs of the class that waited then.
create table class_wait (
    class_id    uuid not null references job_class (id) on delete cascade,
    -- counts from 1 in each class; the oldest are not kept for ever
    number      integer not null,
    cause       text not null,
    sentence    text not null,
    blockers    jsonb not null,
    -- of the leader that decided
    term        bigint not null,
    first_at    timestamptz not null,
    last_at     timestamptz not null,
    -- how often it was told anew for the same causes
    times       bigint not null default 1,
    -- other causes came, or none; null while it holds
    over_at     timestamptz,
    primary key (class_id, number)
);

-- Null until somebody said which: jobs of older versions, and jobs that wait again.
alter table job add column class_id uuid;
create index job_of_class on job (queue, class_id, submitted_at, id) where state = 'queued' and class_id is not null;
create index job_without_class on job (submitted_at, id) where state = 'queued' and class_id is null;

-- The line of a queue: the more urgent first, then the older. Negated, so that all of it rises; the priority is included, so
-- that places are counted in the index alone.
create index job_line on job (queue, (-(priority::bigint)), submitted_at, id) include (priority) where state = 'queued';
drop index job_in_line;
drop index job_queued;
drop index job_queued_by_priority;

-- Lists of jobs by what people filter.
create index job_of_queue on job (queue, state, submitted_at desc, id desc);
create index job_by_state on job (state, submitted_at desc, id desc);
create index job_by_owner on job (owner, submitted_at desc, id desc);

-- Counts of long lines: how many jobs stood before some of theirs when they were last counted, and in all.
create table line (
    queue       text primary key references queue (name) on delete cascade,
    length      bigint not null,
    counted_at  timestamptz not null
);
create table line_mark (
    queue       text not null references line (queue) on delete cascade,
    negated     bigint not null,
    submitted_at timestamptz not null,
    job_id      uuid not null,
    before      bigint not null,
    primary key (queue, negated, submitted_at, job_id)
);
