-- A timeline counts from 1 again in a server that a dump was read into: what a database's history is, is told by its system
-- identifier and its timeline together, in one number.
alter table duty_term rename column timeline to history;

-- The number that agents are told rises with every history that is met; it was Postgres' own.
alter table failover add column history bigint unique;
update failover set history = (select system_identifier from pg_control_system()) # timeline
    where timeline = ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
