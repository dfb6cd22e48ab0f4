-- What jobs say about places, and what operators say about clusters. Jobs and clusters that exist say nothing.

-- core::preference::Preferences; what is not said is not there
alter table job add column preferences jsonb not null default '{}';

-- labels, as text by key
alter table cluster add column labels jsonb not null default '{}';

-- refused arrivals, looked at every second for whether they may be imported by now
create index arrival_offered on arrival (first_seen_at, uid) where gone_at is null and offer is not null;
