-- Waiting jobs by what makes them equal to the dispatcher. What such a class waits for is written once for all of its jobs,
-- and where a job stands in its queue is counted when somebody asks, so that a pass writes nothing per job that waits.
-- The columns blockers, queue_position, queue_length and decided_at of job are not written any more.

create table job_class (
    -- from the content of queue and shape
    id          uuid primary key,
    queue       text not null references queue (name) on delete cascade,
    -- of the shape
    priority    integer not null,
    -- core::dispatch::Shape: priority, pin, size of the manifest, preferences, and the requests of every pod of the gang
    shape       jsonb not null,
    -- whether its jobs could start only beyond what is left of a guarantee; null while none of them was looked at
    borrows     boolean,
    -- why its jobs wait, as the dispatcher wrote it when it last looked; decided_at is null while that is not known
    reason      text not null default '',
    cause       text not null default '',
    sentence    text not null default '',
    blockers    jsonb not null default '[]',
    -- since when it is for these causes
    since       timestamptz,
    decided_at  timestamptz
);
create index job_class_looked on job_class (queue) where borrows is not null;

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

-- Waiting jobs that hear something else than the rest of their class, because room is made or kept for them alone.
create table own_wait (
    job_id      uuid primary key references job (id),
    reason      text not null,
    sentence    text not null,
    blockers    jsonb not null,
    -- the end of its sentence that no other job has
    note        text not null,
    decided_at  timestamptz not null
);

-- Null until somebody said which: jobs of older versions.
alter table job add column class_id uuid;
-- Its predicate is written so that a look into it is not taken for one into job_of_queue, which begins with queue and state too:
-- while the database knows little about the table, it would choose that one and read the whole queue for each class.
create index job_of_class on job (queue, class_id, submitted_at, id) where (state = 'queued') is true;

-- The line of a queue as far as a class does not matter: the more urgent first, then the older. Negated, so that all of it
-- rises; the priority is included, so that places are counted in the index alone.
create index job_line on job (queue, (-(priority::bigint)), submitted_at, id) include (priority, class_id)
    where state = 'queued';
drop index job_in_line;
drop index job_queued;
drop index job_queued_by_priority;

-- What a waiting job is told.
create view job_told as
select j.id as job_id, c.borrows, coalesce(o.reason, c.reason) as reason, coalesce(o.sentence, c.sentence) as sentence,
       coalesce(o.blockers, c.blockers) as blockers, coalesce(o.note, '') as note,
       coalesce(o.decided_at, c.decided_at) as decided_at
from job j
left join job_class c on c.id = j.class_id
left join own_wait o on o.job_id = j.id
where j.state = 'queued' and (c.borrows is not null or o.job_id is not null);

-- Counts of long lines: how many of each part waited when they were last counted, and how many of each stood before some jobs.
-- The parts, in their order: those that stay within a guarantee, those that borrow, those that were not looked at.
create table line (
    queue       text primary key references queue (name) on delete cascade,
    lengths     bigint[] not null,
    counted_at  timestamptz not null
);
create table line_mark (
    queue       text not null references line (queue) on delete cascade,
    negated     bigint not null,
    submitted_at timestamptz not null,
    job_id      uuid not null,
    before      bigint[] not null,
    primary key (queue, negated, submitted_at, job_id)
);
