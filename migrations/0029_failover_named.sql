-- Timeline under which the attempt's own cluster told that it holds it.
alter table attempt add column named_under bigint;

-- When the last cluster had told what it holds, and what waited for that went on; null until then.
alter table failover add column told_at timestamptz;
update failover set told_at = met_at where before is null;
