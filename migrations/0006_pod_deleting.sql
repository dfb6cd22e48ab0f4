-- The pod's deletion was asked for; its containers end because of that.
alter table pod add column deleting boolean not null default false;
