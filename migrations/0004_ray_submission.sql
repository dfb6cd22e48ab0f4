-- Jobs that came by Ray's Job Submission API, the packages that they brought, and the template of a queue.

-- RayJob (YAML) that submissions to the queue are made from; empty means the default one.
alter table queue add column template text not null default '';

create table ray_submission (
    job_id      uuid primary key references job (id),
    submission_id text not null,
    entrypoint  text not null,
    -- JSON as it was submitted; text, because jsonb would change the order of keys
    metadata    text,
    runtime_env text,
    -- hidden from Ray's API on its owner's word; the job itself stays
    deleted_at  timestamptz
);
create unique index ray_submission_named on ray_submission (submission_id) where deleted_at is null;

-- Content is written once. A row without a digest is an upload that goes on, or that broke.
create table ray_package (
    id          uuid primary key,
    owner       text not null,
    name        text not null,
    bytes       bigint not null default 0,
    sha256      bytea,
    created_at  timestamptz not null,
    used_at     timestamptz not null
);
create unique index ray_package_named on ray_package (owner, name) where sha256 is not null;
create index ray_package_used on ray_package (used_at, id);

create table ray_package_chunk (
    package_id  uuid not null references ray_package (id) on delete cascade,
    number      integer not null,
    data        bytea not null,
    primary key (package_id, number)
);

create table ray_submission_package (
    job_id      uuid not null references ray_submission (job_id),
    package_id  uuid not null references ray_package (id) on delete cascade,
    primary key (job_id, package_id)
);
create index ray_submission_package_of on ray_submission_package (package_id);
