//! Many attempts on one cluster, made in a few statements.

use squadron_core::{id::ClusterId, lease::Policy};

use super::fixture::queued;
use crate::Store;

/// `count` jobs with this policy, each with an accepted attempt on the cluster.
#[allow(clippy::missing_panics_doc, reason = "a test without its database cannot go on")]
pub async fn held(store: &Store, cluster: ClusterId, count: u32, policy: Policy) {
    let pattern = queued(store, "pattern").await.id;
    let statements = [
        "insert into job select (jsonb_populate_record(j, jsonb_build_object(
             'id', ('0196f0a0-0000-7000-9000-' || lpad(i::text, 12, '0')), 'name', 'crowd-' || i,
             'state', 'assigned', 'on_lost', $4))).*
         from job j cross join generate_series(1, $3) i where j.id = $1 and $2::uuid is not null",
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, assigned_at, accepted_epoch)
         select id, 1, $2, 'assigned', name, 'it fits', now(), 1 from job
         where name like 'crowd-%' and $1::uuid is not null and $3 > 0 and $4 <> ''",
        "delete from job where id = $1 and $2::uuid is not null and $3 > 0 and $4 <> ''",
        "update cluster set desired_generation = desired_generation + 1
         where id = $2 and $1::uuid is not null and $3 > 0 and $4 <> ''",
    ];
    for statement in statements {
        sqlx::query(statement)
            .bind(pattern.0)
            .bind(cluster.0)
            .bind(i32::try_from(count).expect("a small number"))
            .bind(policy.word())
            .execute(store.pool())
            .await
            .expect("rows");
    }
}
