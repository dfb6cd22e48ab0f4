//! What the correlator needs to know of a cluster: pods that run or ran lately, their attempts, the nodes.

use std::collections::BTreeMap;

use sqlx::Row;
use squadron_core::{
    attempt::is_image_trouble,
    id::{AttemptId, ClusterId},
    incident::{AttemptPlace, PodPlace, Topology},
    time::Timestamp,
};

use crate::{Result, Store, at, attempt::attempt_id, pod, stamp_opt};

impl Store {
    /// The cluster's topology as the projection stands now, without what ended before `since`.
    pub async fn topology(&self, cluster: ClusterId, since: Timestamp) -> Result<Topology> {
        let nodes: Vec<String> =
            sqlx::query_scalar("select name from node where cluster_id = $1 and gone_at is null")
                .bind(cluster.0)
                .fetch_all(self.pool())
                .await?;
        let rows = sqlx::query(
            "select * from pod where cluster_id = $1 and (finished_at is null or finished_at > $2)",
        )
        .bind(cluster.0)
        .bind(at(since))
        .fetch_all(self.pool())
        .await?;
        let mut pods = BTreeMap::new();
        for row in &rows {
            let fact = pod::read(row)?;
            pods.insert(fact.uid.clone(), place(fact));
        }
        Ok(Topology {
            pods,
            attempts: self.attempt_places(cluster, since).await?,
            nodes: nodes.into_iter().collect(),
        })
    }

    async fn attempt_places(
        &self,
        cluster: ClusterId,
        since: Timestamp,
    ) -> Result<BTreeMap<AttemptId, AttemptPlace>> {
        let rows = sqlx::query(
            "select a.job_id, a.number as attempt, a.ended_at, j.name, j.reason
             from attempt a join job j on j.id = a.job_id
             where a.cluster_id = $1 and (a.ended_at is null or a.ended_at > $2)",
        )
        .bind(cluster.0)
        .bind(at(since))
        .fetch_all(self.pool())
        .await?;
        let mut places = BTreeMap::new();
        for row in &rows {
            if let Some(id) = attempt_id(row)? {
                let place = AttemptPlace {
                    job_name: row.try_get("name")?,
                    reason: row.try_get("reason")?,
                    ended_at: stamp_opt(row.try_get("ended_at")?),
                };
                places.insert(id, place);
            }
        }
        Ok(places)
    }
}

fn place(pod: squadron_core::fact::PodFact) -> PodPlace {
    PodPlace {
        image_trouble: !pod.gone && pod.containers.iter().any(is_image_trouble),
        namespace: pod.namespace,
        name: pod.name,
        node: pod.node,
        role: pod.role,
        requests: pod.requests,
        attempt: pod.attempt,
        bound_at: pod.bound_at,
        finished_at: pod.finished_at,
    }
}
