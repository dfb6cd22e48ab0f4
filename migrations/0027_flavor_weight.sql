-- Flavors weigh differently in shares and in what queues used lately.

-- What one GPU of the flavor counts as, in thousandths of an ordinary one.
alter table flavor add column weight_milli bigint not null default 1000;
