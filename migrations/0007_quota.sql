-- Declared policy: flavors, quotas on the tree of queues, priority classes. Queues that exist stay roots without quotas,
-- which limits nothing; jobs that exist have the ordinary priority.

-- Changes of the policy take this row first, so that they happen one after the other.
create table policy (
    one         boolean primary key default true check (one),
    version     bigint not null default 0
);
insert into policy default values;

create table flavor (
    name        text primary key,
    -- a node with all of these has the flavor; the first flavor by name counts
    node_labels jsonb not null default '{}'
);

alter table queue add column parent text references queue (name);
alter table queue add column weight_milli bigint not null default 1000;

-- Amounts in the unit of their resource: thousandths of a core, bytes, devices. Null limits nothing.
create table queue_quota (
    queue       text not null references queue (name) on delete cascade,
    flavor      text not null references flavor (name),
    resource    text not null,
    nominal     bigint not null,
    borrowing_limit bigint,
    lending_limit bigint,
    primary key (queue, flavor, resource)
);

create table priority_class (
    name        text primary key,
    value       integer not null,
    description text not null default ''
);

-- As the class said when the job was submitted; a class that goes away or changes moves no job.
alter table job add column priority_class text;
alter table job add column priority integer not null default 0;
