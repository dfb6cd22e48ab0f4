-- Nouns of the first flight. Plain SQL: no trigger, NOTIFY, advisory lock or temporary table.
-- cluster_id leads the keys of high-volume tables. Times are timestamptz in microseconds UTC, handed in by the caller.

create table control_plane (
    id          uuid primary key,
    created_at  timestamptz not null
);

-- One row per duty. Whoever holds an unexpired row may do the duty; every write of the duty checks its term.
create table duty_term (
    duty        text primary key,
    term        bigint not null,
    holder      uuid not null,
    expires_at  timestamptz not null
);

create table api_token (
    id          uuid primary key,
    sha256      bytea not null unique,
    subject     text not null,
    role        text not null,
    created_at  timestamptz not null,
    expires_at  timestamptz,
    last_used_at timestamptz
);

-- A browser that traded a token for a cookie. The cookie's secret is kept as a digest only.
create table console_session (
    sha256      bytea primary key,
    token_id    uuid not null references api_token (id) on delete cascade,
    created_at  timestamptz not null,
    used_at     timestamptz not null,
    expires_at  timestamptz not null
);

create table audit (
    id          uuid primary key,
    at          timestamptz not null,
    actor       text not null,
    action      text not null,
    object      text not null,
    allowed     boolean not null,
    detail      text not null default '',
    request_id  text not null default ''
);

create table cluster (
    id                  uuid primary key,
    name                text not null unique,
    -- invited, pending, active, revoked; silence is judged when read, from last_heard_at
    state               text not null,
    created_at          timestamptz not null,
    code_sha256         bytea,
    code_expires_at     timestamptz,
    issuer              text not null default '',
    subject             text not null default '',
    service_account_uid text not null default '',
    kube_system_uid     text not null default '',
    jwks                jsonb,
    accepted_at         timestamptz,
    accepted_by         text not null default '',
    agent_epoch         bigint not null default 0,
    agent_pod_uid       text not null default '',
    agent_version       text not null default '',
    kubernetes_version  text not null default '',
    last_heard_at       timestamptz,
    clock_skew_ms       bigint,
    spool_bytes         bigint not null default 0,
    -- grows with every change of the attempts that the cluster should hold
    desired_generation  bigint not null default 0,
    -- newest desired state that the agent says it applied, from its heartbeat
    applied_generation  bigint not null default 0,
    alarm               text not null default '',
    -- an identity that an active cluster offered anew and that waits for a word; null when none does
    reoffer             jsonb,
    version             bigint not null default 0
);

-- The first key of an agent pod wins.
create table agent_key (
    cluster_id  uuid not null references cluster (id),
    pod_uid     text not null,
    public_key  bytea not null,
    first_seen_at timestamptz not null,
    primary key (cluster_id, pod_uid)
);

-- Highest contiguous record number that was committed; class 1 facts, class 2 logs.
create table ingest_watermark (
    cluster_id  uuid not null references cluster (id),
    epoch       bigint not null,
    class       smallint not null,
    seq         bigint not null,
    primary key (cluster_id, epoch, class)
);

create table fact (
    cluster_id  uuid not null,
    epoch       bigint not null,
    seq         bigint not null,
    day         date not null,              -- of receipt; the partition
    observed_at timestamptz not null,       -- agent's clock
    received_at timestamptz not null,       -- ours
    kind        text not null,
    job_id      uuid,
    attempt     integer,
    body        jsonb not null,
    primary key (cluster_id, epoch, seq, day)
) partition by range (day);
create table fact_default partition of fact default;
create index fact_of_job on fact (job_id, observed_at) where job_id is not null;

-- Records that could not be read, with the reason; the watermark passed them.
create table rejected_record (
    cluster_id  uuid not null,
    epoch       bigint not null,
    class       smallint not null,
    seq         bigint not null,
    at          timestamptz not null,
    reason      text not null,
    primary key (cluster_id, epoch, class, seq)
);

-- How far a consumer of facts has come; moves in the transaction of its effect.
create table consumer_cursor (
    consumer    text not null,
    cluster_id  uuid not null,
    epoch       bigint not null,
    seq         bigint not null,
    primary key (consumer, cluster_id, epoch)
);

create table log_chunk (
    cluster_id  uuid not null,
    job_id      uuid not null,
    attempt     integer not null,
    stream      text not null,
    start_offset bigint not null,
    data        bytea not null,
    received_at timestamptz not null,
    primary key (job_id, attempt, stream, start_offset)
);

create table node (
    cluster_id  uuid not null,
    uid         text not null,
    name        text not null,
    ready       boolean not null,
    unschedulable boolean not null,
    capacity_cpu_milli bigint not null,
    capacity_memory_bytes bigint not null,
    capacity_gpus bigint not null,
    allocatable_cpu_milli bigint not null,
    allocatable_memory_bytes bigint not null,
    allocatable_gpus bigint not null,
    gpu_model   text not null default '',
    instance_type text not null default '',
    first_seen_at timestamptz not null,
    gone_at     timestamptz,
    observed_at timestamptz not null,
    -- number of the newest fact that the row shows; an older one never overwrites it
    epoch       bigint not null,
    seq         bigint not null,
    primary key (cluster_id, uid)
);

create table pod (
    cluster_id  uuid not null,
    uid         text not null,
    namespace   text not null,
    name        text not null,
    node        text not null default '',
    phase       text not null,
    ready       boolean not null,
    reason      text not null default '',
    message     text not null default '',
    cpu_milli   bigint not null,
    memory_bytes bigint not null,
    gpus        bigint not null,
    created_at  timestamptz,
    bound_at    timestamptz,
    started_at  timestamptz,
    finished_at timestamptz,
    gone        boolean not null default false,
    job_id      uuid,
    attempt     integer,
    role        text not null default '',
    ray_cluster text not null default '',
    worker_group text not null default '',
    containers  jsonb not null default '[]',
    -- finished_at is when the pod was missed, not when it ended
    end_estimated boolean not null default false,
    observed_at timestamptz not null,
    epoch       bigint not null,
    seq         bigint not null,
    primary key (cluster_id, uid)
);
create index pod_of_job on pod (job_id) where job_id is not null;
create index pod_live on pod (cluster_id, node) where finished_at is null and not gone;

create table queue (
    name        text primary key,
    created_at  timestamptz not null
);

create table job (
    id          uuid primary key,
    name        text not null,
    namespace   text not null,
    queue       text not null references queue (name),
    state       text not null,
    reason      text not null default '',
    sentence    text not null default '',
    owner       text not null,
    -- as it was submitted, YAML or JSON
    manifest    text not null,
    -- the same as JSON, as the agent gets it
    rayjob      text not null default '',
    -- requests of every pod of the gang: [{"role":"head","count":1,"cpu_milli":…,"memory_bytes":…,"gpus":…}]
    gang        jsonb not null,
    pinned_cluster uuid references cluster (id),
    submitted_at timestamptz not null,
    started_at  timestamptz,
    ended_at    timestamptz,
    cancel_requested_at timestamptz,
    -- as the dispatcher wrote them when it last looked
    blockers    jsonb not null default '[]',
    queue_position integer,
    queue_length integer,
    decided_at  timestamptz,
    -- the person's words, when they cancelled it
    cancel_reason text not null default '',
    cancelled_by text not null default '',
    version     bigint not null default 1
);
create index job_queued on job (queue, submitted_at, id) where state = 'queued';
create index job_listed on job (submitted_at desc, id desc);
create index job_named on job (name, submitted_at desc);

create table idempotency (
    owner       text not null,
    key         text not null,
    body_sha256 bytea not null,
    job_id      uuid not null references job (id),
    created_at  timestamptz not null,
    primary key (owner, key)
);

create table attempt (
    job_id      uuid not null references job (id),
    number      integer not null,
    cluster_id  uuid not null references cluster (id),
    -- assigned, starting, running, stopping, succeeded, failed, cancelled
    state       text not null,
    object_name text not null,
    chosen_because text not null,
    ended_because text not null default '',
    assigned_at timestamptz not null,
    running_at  timestamptz,
    ended_at    timestamptz,
    -- whether the cluster should hold the RayJob; false some time after the end, or on cancel
    desired     boolean not null default true,
    -- the cluster's generation from which on the attempt is not desired any more
    released_generation bigint,
    -- the agent said that the RayJob exists
    created_at  timestamptz,
    removed_at  timestamptz,
    primary key (job_id, number)
);
-- R1: at most one live attempt per job.
create unique index attempt_live on attempt (job_id) where ended_at is null;
create index attempt_desired on attempt (cluster_id) where desired;

create table incident (
    id          uuid primary key,
    cluster_id  uuid not null references cluster (id),
    fingerprint text not null,
    state       text not null,
    verdict     text not null,
    severity    text not null,
    title       text not null,
    explanation text not null,
    next_step   text not null,
    node        text not null default '',
    first_seen_at timestamptz not null,
    last_seen_at timestamptz not null,
    resolved_at timestamptz,
    version     bigint not null default 1
);
create unique index incident_open on incident (cluster_id, fingerprint) where state = 'open';

create table incident_evidence (
    incident_id uuid not null references incident (id),
    epoch       bigint not null,
    seq         bigint not null,
    at          timestamptz not null,
    sentence    text not null,
    raw         text not null,
    primary key (incident_id, epoch, seq)
);

create table incident_job (
    incident_id uuid not null references incident (id),
    job_id      uuid not null references job (id),
    because     text not null,
    primary key (incident_id, job_id)
);

create table price_sheet (
    name        text not null,
    version     bigint not null,
    currency    text not null,
    body        text not null,
    created_at  timestamptz not null,
    created_by  text not null,
    primary key (name, version)
);
