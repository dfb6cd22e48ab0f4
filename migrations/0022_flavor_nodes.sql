-- Pods stay on nodes of the flavors that their attempt is charged to.

-- what pods that are charged to the flavor put up with besides what their templates say: a list of core::placement::Toleration
alter table flavor add column tolerations jsonb not null default '[]';

-- core::dispatch::Bound: by role, the nodes that its pods may go to and the taints that they put up with, as it was decided.
-- Attempts from before this have none, and their pods keep the templates that they were made with.
alter table attempt add column bound jsonb not null default '{}';
