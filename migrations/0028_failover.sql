-- Timelines of the database that a dispatcher has met. A later one is a failover, which may have forgotten the newest commits.
create table failover (
    timeline    bigint primary key,
    -- newest submission that was known when it was met: jobs up to it may run although nothing here says so; null where nothing
    -- can be forgotten
    before      timestamptz,
    met_at      timestamptz not null
);

-- Timeline since which the cluster has not told what it holds; null where nothing of it can be forgotten.
alter table cluster add column untold_since bigint;
