//! Pods: the rows that a batch of facts is about, in memory between one read and one write.
//!
//! Invariant: holds every pod of the attempts and of the facts that it was read for, so what it shows after each fact is what
//! the database would show; nobody else writes pods meanwhile, because the caller's transaction holds its term. A row that this
//! version cannot read counts as not there, so that it keeps back no fact of its pod or of its attempt, and the next fact of the
//! pod replaces it. Lost with the transaction, which changes nothing then.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    fact::PodFact,
    id::{AttemptId, ClusterId},
    time::Timestamp,
};

use super::{
    MOST,
    kept::{Kept, Past},
    read,
};
use crate::{Result, at, at_opt, cursor::Position, stamp, stamp_opt};

/// A pod of a cluster, by its uid.
type Key = (ClusterId, String);

/// Pods as they are known at some fact of a batch.
#[derive(Default)]
pub struct Pods {
    kept: BTreeMap<Key, Kept>,
    /// Those of each attempt, the oldest first.
    of: BTreeMap<AttemptId, Vec<PodFact>>,
    changed: BTreeSet<Key>,
    past: Vec<(Key, Past)>,
}

impl Pods {
    /// These pods, and all pods of these attempts.
    pub async fn read(
        db: &mut PgConnection,
        pods: &BTreeSet<(ClusterId, &str)>,
        attempts: &BTreeSet<AttemptId>,
    ) -> Result<Pods> {
        if pods.is_empty() && attempts.is_empty() {
            return Ok(Pods::default());
        }
        let rows = sqlx::query(
            "select p.* from pod p join unnest($1::uuid[], $2::text[]) as k (cluster_id, uid)
                on p.cluster_id = k.cluster_id and p.uid = k.uid
             union all
             select p.* from unnest($3::uuid[], $4::integer[]) as k (job_id, attempt)
             join lateral (select * from pod where job_id = k.job_id and attempt = k.attempt
                           order by created_at nulls last, uid collate \"C\" limit $5) p on true",
        )
        .bind(pods.iter().map(|(cluster, _)| cluster.0).collect::<Vec<_>>())
        .bind(pods.iter().map(|(_, uid)| *uid).collect::<Vec<_>>())
        .bind(attempts.iter().map(|attempt| attempt.job.0).collect::<Vec<_>>())
        .bind(attempts.iter().map(|one| i32::try_from(one.number).unwrap_or(i32::MAX)).collect::<Vec<_>>())
        .bind(i64::try_from(MOST).unwrap_or(i64::MAX))
        .fetch_all(db)
        .await?;
        let mut all = Pods::default();
        for row in &rows {
            let cluster = ClusterId(row.try_get("cluster_id")?);
            match kept(row) {
                Ok(kept) => _ = all.kept.insert((cluster, kept.pod.uid.clone()), kept),
                Err(error) if error.is_of_the_data() => {
                    let uid: &str = row.try_get("uid")?;
                    tracing::warn!(%cluster, uid, %error, "a pod cannot be read until its next fact comes");
                }
                Err(error) => return Err(error),
            }
        }
        for kept in all.kept.values() {
            if let Some(attempt) = kept.pod.attempt {
                all.of.entry(attempt).or_default().push(kept.pod.clone());
            }
        }
        all.of.values_mut().for_each(|pods| pods.sort_by(|a, b| age(a).cmp(&age(b))));
        Ok(all)
    }

    /// Shows a fact, observed at `seen`. Answers whether it was news. The caller has checked that the attempt which it names
    /// runs on the cluster.
    pub fn show(&mut self, cluster: ClusterId, pod: &PodFact, position: Position, seen: Timestamp) -> bool {
        let key = (cluster, pod.uid.clone());
        let (next, past, before) = match self.kept.get(&key) {
            None => (Kept::first(pod, position, seen), None, None),
            Some(kept) => {
                let Some((next, past)) = kept.next(pod, position, seen) else { return false };
                (next, past, kept.pod.attempt)
            }
        };
        if let Some(pods) = before.and_then(|attempt| self.of.get_mut(&attempt)) {
            pods.retain(|other| other.uid != pod.uid);
        }
        if let Some(attempt) = next.pod.attempt {
            let pods = self.of.entry(attempt).or_default();
            let place = pods.partition_point(|other| age(other) <= age(&next.pod));
            pods.insert(place, next.pod.clone());
        }
        self.past.extend(past.map(|past| (key.clone(), past)));
        self.changed.insert(key.clone());
        self.kept.insert(key, next);
        true
    }

    /// Pods of an attempt, live and gone, the oldest first.
    pub fn of_attempt(&self, attempt: AttemptId) -> &[PodFact] {
        let pods = self.of.get(&attempt).map_or(&[][..], Vec::as_slice);
        pods.get(..MOST).unwrap_or(pods)
    }

    /// Writes what was shown.
    pub async fn save(&self, db: &mut PgConnection) -> Result<()> {
        let changed: Vec<_> =
            self.changed.iter().filter_map(|key| Some((key, self.kept.get(key)?))).collect();
        if !self.past.is_empty() {
            save_past(db, &self.past).await?;
        }
        if changed.is_empty() { Ok(()) } else { save(db, &changed).await }
    }
}

/// The order of an attempt's pods.
fn age(pod: &PodFact) -> (bool, Option<Timestamp>, &str) {
    (pod.created_at.is_none(), pod.created_at, &pod.uid)
}

fn kept(row: &PgRow) -> Result<Kept> {
    Ok(Kept {
        pod: read(row)?,
        end_estimated: row.try_get("end_estimated")?,
        requests_since: stamp_opt(row.try_get("requests_since")?),
        observed_at: stamp(row.try_get("observed_at")?),
        position: Position { epoch: row.try_get("epoch")?, seq: row.try_get("seq")? },
    })
}

async fn save(db: &mut PgConnection, rows: &[(&Key, &Kept)]) -> Result<()> {
    let pods: Vec<&PodFact> = rows.iter().map(|(_, kept)| &kept.pod).collect();
    let times =
        |of: fn(&PodFact) -> Option<Timestamp>| pods.iter().map(|pod| at_opt(of(pod))).collect::<Vec<_>>();
    sqlx::query(
        "insert into pod (cluster_id, uid, namespace, name, node, phase, ready, reason, message, cpu_milli,
                memory_bytes, gpus, created_at, bound_at, started_at, finished_at, gone, job_id, attempt, role,
                ray_cluster, worker_group, containers, observed_at, epoch, seq, deleting, end_estimated, requests_since)
         select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::text[],
                $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::timestamptz[], $14::timestamptz[],
                $15::timestamptz[], $16::timestamptz[], $17::boolean[], $18::uuid[], $19::integer[], $20::text[],
                $21::text[], $22::text[], $23::jsonb[], $24::timestamptz[], $25::bigint[], $26::bigint[], $27::boolean[],
                $28::boolean[], $29::timestamptz[])
         on conflict (cluster_id, uid) do update
         set namespace = excluded.namespace, name = excluded.name, node = excluded.node, phase = excluded.phase,
             ready = excluded.ready, reason = excluded.reason, message = excluded.message, cpu_milli = excluded.cpu_milli,
             memory_bytes = excluded.memory_bytes, gpus = excluded.gpus, created_at = excluded.created_at,
             bound_at = excluded.bound_at, started_at = excluded.started_at, finished_at = excluded.finished_at,
             gone = excluded.gone, job_id = excluded.job_id, attempt = excluded.attempt, role = excluded.role,
             ray_cluster = excluded.ray_cluster, worker_group = excluded.worker_group, containers = excluded.containers,
             observed_at = excluded.observed_at, epoch = excluded.epoch, seq = excluded.seq, deleting = excluded.deleting,
             end_estimated = excluded.end_estimated, requests_since = excluded.requests_since",
    )
    .bind(rows.iter().map(|((cluster, _), _)| cluster.0).collect::<Vec<_>>())
    .bind(rows.iter().map(|((_, uid), _)| uid.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.namespace.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.node.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.phase.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.ready).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.reason.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.message.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.requests.cpu_milli).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.requests.memory_bytes).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.requests.gpus).collect::<Vec<_>>())
    .bind(times(|pod| pod.created_at))
    .bind(times(|pod| pod.bound_at))
    .bind(times(|pod| pod.started_at))
    .bind(times(|pod| pod.finished_at))
    .bind(pods.iter().map(|pod| pod.gone).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.attempt.map(|attempt| attempt.job.0)).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.attempt.and_then(|one| i32::try_from(one.number).ok())).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.role.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.ray_cluster.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.worker_group.as_str()).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| Json(&pod.containers)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, kept)| at(kept.observed_at)).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, kept)| kept.position.epoch).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, kept)| kept.position.seq).collect::<Vec<_>>())
    .bind(pods.iter().map(|pod| pod.deleting).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, kept)| kept.end_estimated).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, kept)| at_opt(kept.requests_since)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

async fn save_past(db: &mut PgConnection, past: &[(Key, Past)]) -> Result<()> {
    sqlx::query(
        "insert into pod_past (cluster_id, uid, from_at, to_at, cpu_milli, memory_bytes, gpus)
         select * from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::bigint[], $6::bigint[],
                              $7::bigint[])
         on conflict (cluster_id, uid, from_at) do nothing",
    )
    .bind(past.iter().map(|((cluster, _), _)| cluster.0).collect::<Vec<_>>())
    .bind(past.iter().map(|((_, uid), _)| uid.as_str()).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| at(past.from)).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| at(past.to)).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| past.requests.cpu_milli).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| past.requests.memory_bytes).collect::<Vec<_>>())
    .bind(past.iter().map(|(_, past)| past.requests.gpus).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}
