-- How far queues with a guarantee were below it while they waited, as core::dispatch::owed counts it.
create table queue_owed (
    queue       text primary key,
    -- thousandths of a GPU times milliseconds, up to `at`: what it was owed, and what of that it did not have
    owed        bigint not null,
    missing     bigint not null,
    -- thousandths of a GPU, from `at` on
    owed_now    bigint not null,
    missing_now bigint not null,
    at          timestamptz not null
);
