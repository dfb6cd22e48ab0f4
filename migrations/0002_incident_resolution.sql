-- Who ended an incident and why. Empty `resolved_by` means that the correlator saw the end itself.
alter table incident add column resolved_by text not null default '';
alter table incident add column resolved_because text not null default '';
