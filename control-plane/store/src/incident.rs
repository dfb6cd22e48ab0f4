//! Incidents with their evidence and the jobs they hit.
//!
//! Invariant: at most one open incident per cluster and fingerprint; a change of the correlator is written in the
//! transaction that moves its cursor, and a fact is never added to an incident that a person ended meanwhile.

mod list;
#[cfg(test)]
mod tests;
mod topology;

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{
    id::{ClusterId, IncidentId, JobId},
    incident::{
        Change, Evidence, Hit, Known, Opened, Resolved,
        resolve::{self, Refused},
    },
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Store, StoreError, at, audit, stamp, stamp_opt};

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
            "select i.fingerprint, i.node, i.verdict, i.last_seen_at, i.resolved_at, i.resolved_by, i.resolved_because,
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
                    resolved: resolved(row)?,
                    raws: row.try_get::<Vec<String>, _>("raws")?.into_iter().collect(),
                    jobs: row.try_get::<Vec<Uuid>, _>("jobs")?.into_iter().map(JobId).collect(),
                })
            })
            .collect()
    }

    /// Ends an incident by a person's word and audits it. `None` when there is no such incident.
    pub async fn resolve_incident(
        &self,
        id: IncidentId,
        reason: &str,
        entry: &audit::Entry,
    ) -> Result<Option<std::result::Result<i64, Refused>>> {
        self.txn("incident.resolve", &(id, reason, entry), |db, (id, reason, entry)| {
            Box::pin(async move {
                let row = sqlx::query(
                    "select version, resolved_at, resolved_by, resolved_because from incident where id = $1 for update",
                )
                .bind(id.0)
                .fetch_optional(&mut *db)
                .await?;
                let Some(row) = row else { return Ok(None) };
                let ended = resolved(&row)?;
                match resolve::by_hand(ended.as_ref(), &entry.actor, reason, entry.at) {
                    Err(refused) => Ok(Some(Err(refused))),
                    Ok(_) if ended.is_some() => Ok(Some(Ok(row.try_get("version")?))),
                    Ok(end) => {
                        let version = close(db, *id, &end).await?;
                        audit::insert(db, entry).await?;
                        Ok(Some(Ok(version)))
                    }
                }
            })
        })
        .await
    }
}

/// How the incident of a row ended.
fn resolved(row: &PgRow) -> Result<Option<Resolved>> {
    let Some(at) = stamp_opt(row.try_get("resolved_at")?) else { return Ok(None) };
    Ok(Some(Resolved { at, by: row.try_get("resolved_by")?, because: row.try_get("resolved_because")? }))
}

/// Writes one change. `id` becomes the id of an incident that begins. Answers the incident with its new version. Fails
/// when a fact was to be added to an incident that is no longer open: what becomes of the fact must be judged again.
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
    let id = sqlx::query_scalar(
        "select id from incident where cluster_id = $1 and fingerprint = $2 and state = 'open' for update",
    )
    .bind(cluster.0)
    .bind(fingerprint)
    .fetch_optional(&mut *db)
    .await?;
    let Some(id) = id.map(IncidentId) else { return Ok(None) };
    let end = Resolved { at: now, by: String::new(), because: why.to_owned() };
    Ok(Some((id, close(db, id, &end).await?)))
}

async fn close(db: &mut PgConnection, id: IncidentId, end: &Resolved) -> Result<i64> {
    let version = sqlx::query_scalar(
        "update incident set state = 'resolved', resolved_at = $2, resolved_by = $3, resolved_because = $4,
                version = version + 1
         where id = $1 returning version",
    )
    .bind(id.0)
    .bind(at(end.at))
    .bind(&end.by)
    .bind(&end.because)
    .fetch_one(db)
    .await?;
    Ok(version)
}
