-- RayJobs that somebody put into a cluster for Squadron to run.

-- Which namespace of which cluster may submit to which queue this way. What is not here is refused.
create table arrival_rule (
    cluster_id  uuid not null references cluster (id),
    namespace   text not null,
    queue       text not null references queue (name),
    created_at  timestamptz not null,
    created_by  text not null,
    primary key (cluster_id, namespace, queue)
);

-- One row per object; the key is what makes a second import impossible.
create table arrival (
    cluster_id  uuid not null references cluster (id),
    uid         text not null,
    namespace   text not null,
    name        text not null,
    queue       text not null,
    -- of the spec that was imported or refused
    generation  bigint not null,
    -- what it became; null while it is refused
    job_id      uuid references job (id),
    -- why it is refused: a word and a sentence
    refusal     text not null default '',
    sentence    text not null default '',
    -- what was refused, as its agent told it, to be looked at again; null once it is a job
    offer       jsonb,
    -- the object was changed after its import
    edited      boolean not null default false,
    first_seen_at timestamptz not null,
    -- the object tells the end of the job: nothing is left to be told on it
    settled_at  timestamptz,
    -- it was deleted, or taken back
    gone_at     timestamptz,
    primary key (cluster_id, uid)
);
create unique index arrival_of_job on arrival (job_id) where job_id is not null;
create index arrival_told on arrival (cluster_id, uid) where gone_at is null and settled_at is null;
create index arrival_refused on arrival (cluster_id, namespace, queue)
    where gone_at is null and refusal = 'NOT_ALLOWED';
