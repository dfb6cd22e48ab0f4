//! Incidents with their evidence and the jobs they hit.
//!
//! Invariant: at most one open incident per cluster and fingerprint; a change of the correlator is written in the
//! transaction that moves its cursor.

mod list;
#[cfg(test)]
mod tests;
mod topology;

use sqlx::{PgConnection, Row};
use squadron_core::{
    id::{ClusterId, IncidentId, JobId},
    incident::{Change, Evidence, Hit, Known, Opened},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Store, StoreError, at, stamp, stamp_opt};

pub use crate::incident::list::{EvidenceRow, HitRow, IncidentRow};

/// How long a resolved incident is remembered, so that an old word told again does not open it anew, in milliseconds.
const REMEMBERED_MS: i64 = 7 * 86_400_000;

impl Store {
    /// Clusters with an open incident.
    pub async fn clusters_with_incidents(&self) -> Result<Vec<ClusterId>> {
        let ids = sqlx::query_scalar(
            "select distinct cluster_id from incident where state = 'open' order by cluster_id",
        )
        .fetch_all(self.pool())
        .await?;
        Ok(ids.into_iter().map(ClusterId).collect())
    }

    /// Incidents of a cluster that are open or were resolved in the last week.
    pub async fn known_incidents(&self, cluster: ClusterId, now: Timestamp) -> Result<Vec<Known>> {
        let rows = sqlx::query(
            "select i.fingerprint, i.node, i.verdict, i.last_seen_at, i.resolved_at,
                    array(select e.raw from incident_evidence e where e.incident_id = i.id) as raws,
                    array(select j.job_id from incident_job j where j.incident_id = i.id) as jobs
             from incident i where i.cluster_id = $1 and (i.state = 'open' or i.resolved_at > $2)
             order by i.first_seen_at, i.id",
        )
        .bind(cluster.0)
        .bind(at(now.plus_millis(-REMEMBERED_MS)))
        .fetch_all(self.pool())
        .await?;
        rows.iter()
            .map(|row| {
                Ok(Known {
                    fingerprint: row.try_get("fingerprint")?,
                    node: row.try_get("node")?,
                    verdict: row.try_get("verdict")?,
                    last_seen_at: stamp(row.try_get("last_seen_at")?),
                    resolved_at: stamp_opt(row.try_get("resolved_at")?),
                    raws: row.try_get::<Vec<String>, _>("raws")?.into_iter().collect(),
                    jobs: row.try_get::<Vec<Uuid>, _>("jobs")?.into_iter().map(JobId).collect(),
                })
            })
            .collect()
    }
}

/// Writes one change. `id` becomes the id of an incident that begins. Answers the incident with its new version.
pub async fn apply(
    db: &mut PgConnection,
    cluster: ClusterId,
    change: &Change,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<(IncidentId, i64)>> {
    match change {
        Change::Open(opened) => open(db, cluster, opened, id).await.map(Some),
        Change::Append { fingerprint, evidence, hits } => {
            let Some((id, version)) = touch(db, cluster, fingerprint, evidence.at).await? else {
                return Err(StoreError::Changed { what: "an incident" });
            };
            add(db, id, evidence, hits).await?;
            Ok(Some((id, version)))
        }
        Change::Touch { fingerprint, at } => touch(db, cluster, fingerprint, *at).await,
        Change::Resolve { fingerprint, why } => resolve(db, cluster, fingerprint, why, now).await,
    }
}

async fn open(
    db: &mut PgConnection,
    cluster: ClusterId,
    opened: &Opened,
    id: Uuid,
) -> Result<(IncidentId, i64)> {
    sqlx::query(
        "insert into incident (id, cluster_id, fingerprint, state, verdict, severity, title, explanation, next_step, node,
                               first_seen_at, last_seen_at)
         values ($1, $2, $3, 'open', $4, $5, $6, $7, $8, $9, $10, $10)",
    )
    .bind(id)
    .bind(cluster.0)
    .bind(&opened.fingerprint)
    .bind(&opened.verdict)
    .bind(opened.severity.word())
    .bind(&opened.title)
    .bind(&opened.explanation)
    .bind(&opened.next_step)
    .bind(&opened.node)
    .bind(at(opened.evidence.at))
    .execute(&mut *db)
    .await?;
    add(db, IncidentId(id), &opened.evidence, &opened.hits).await?;
    Ok((IncidentId(id), 1))
}

async fn add(db: &mut PgConnection, id: IncidentId, evidence: &Evidence, hits: &[Hit]) -> Result<()> {
    sqlx::query(
        "insert into incident_evidence (incident_id, epoch, seq, at, sentence, raw) values ($1, $2, $3, $4, $5, $6)
         on conflict (incident_id, epoch, seq) do nothing",
    )
    .bind(id.0)
    .bind(i64::try_from(evidence.epoch).unwrap_or(i64::MAX))
    .bind(i64::try_from(evidence.seq).unwrap_or(i64::MAX))
    .bind(at(evidence.at))
    .bind(&evidence.sentence)
    .bind(&evidence.raw)
    .execute(&mut *db)
    .await?;
    for hit in hits {
        sqlx::query(
            "insert into incident_job (incident_id, job_id, because) values ($1, $2, $3)
             on conflict (incident_id, job_id) do nothing",
        )
        .bind(id.0)
        .bind(hit.job.0)
        .bind(&hit.because)
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

async fn touch(
    db: &mut PgConnection,
    cluster: ClusterId,
    fingerprint: &str,
    seen: Timestamp,
) -> Result<Option<(IncidentId, i64)>> {
    let row = sqlx::query(
        "update incident set last_seen_at = greatest(last_seen_at, $3), version = version + 1
         where cluster_id = $1 and fingerprint = $2 and state = 'open' returning id, version",
    )
    .bind(cluster.0)
    .bind(fingerprint)
    .bind(at(seen))
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((IncidentId(row.try_get("id")?), row.try_get("version")?))).transpose()
}

async fn resolve(
    db: &mut PgConnection,
    cluster: ClusterId,
    fingerprint: &str,
    why: &str,
    now: Timestamp,
) -> Result<Option<(IncidentId, i64)>> {
    let row = sqlx::query(
        "update incident set state = 'resolved', resolved_at = $3, explanation = explanation || ' Resolved: ' || $4 || '.',
                version = version + 1
         where cluster_id = $1 and fingerprint = $2 and state = 'open' returning id, version",
    )
    .bind(cluster.0)
    .bind(fingerprint)
    .bind(at(now))
    .bind(why)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((IncidentId(row.try_get("id")?), row.try_get("version")?))).transpose()
}
