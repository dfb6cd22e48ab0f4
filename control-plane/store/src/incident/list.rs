//! Incidents as people look at them.

use std::collections::BTreeMap;

use sqlx::{Row, postgres::PgRow};
use squadron_core::{
    id::{IncidentId, JobId},
    incident::Resolved,
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Store, at_opt, stamp};

/// An incident with everything that belongs to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IncidentRow {
    pub id: IncidentId,
    pub state: String,
    pub verdict: String,
    pub severity: String,
    pub title: String,
    pub explanation: String,
    pub next_step: String,
    pub cluster: String,
    pub node: String,
    pub jobs: Vec<HitRow>,
    pub evidence: Vec<EvidenceRow>,
    pub first_seen_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// None while it is open.
    pub resolved: Option<Resolved>,
    pub version: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HitRow {
    pub id: JobId,
    pub name: String,
    pub because: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EvidenceRow {
    pub at: Timestamp,
    pub epoch: i64,
    pub seq: i64,
    pub sentence: String,
    pub raw: String,
    /// It is a line of a node's kernel.
    pub is_kernel_line: bool,
}

/// Kind of facts that are lines of a kernel.
const KERNEL: &str = "kernel";

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select i.id, i.state, i.verdict, i.severity, i.title, i.explanation, i.next_step, c.name as cluster, i.node,
                    i.first_seen_at, i.last_seen_at, i.resolved_at, i.resolved_by, i.resolved_because, i.version
             from incident i join cluster c on c.id = i.cluster_id ",
            $rest
        )
    };
}

impl Store {
    /// Incidents, those seen first latest at the front; `after` continues behind that row.
    pub async fn incidents(
        &self,
        state: Option<&str>,
        after: Option<(Timestamp, Uuid)>,
        limit: i64,
    ) -> Result<Vec<IncidentRow>> {
        let rows = sqlx::query(select!(
            "where ($1::text is null or i.state = $1)
               and ($2::timestamptz is null or (i.first_seen_at, i.id) < ($2, $3::uuid))
             order by i.first_seen_at desc, i.id desc limit $4"
        ))
        .bind(state)
        .bind(at_opt(after.map(|after| after.0)))
        .bind(after.map(|after| after.1))
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        self.complete(&rows).await
    }

    pub async fn incident(&self, id: IncidentId) -> Result<Option<IncidentRow>> {
        let rows = sqlx::query(select!("where i.id = $1")).bind(id.0).fetch_all(self.pool()).await?;
        Ok(self.complete(&rows).await?.pop())
    }

    /// Incidents that hit a job, the first first.
    pub async fn incidents_of_job(&self, job: JobId) -> Result<Vec<IncidentRow>> {
        let rows = sqlx::query(select!(
            "where exists (select 1 from incident_job h where h.incident_id = i.id and h.job_id = $1)
             order by i.first_seen_at, i.id limit 100"
        ))
        .bind(job.0)
        .fetch_all(self.pool())
        .await?;
        self.complete(&rows).await
    }

    async fn complete(&self, rows: &[PgRow]) -> Result<Vec<IncidentRow>> {
        let mut incidents = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
        let ids: Vec<Uuid> = incidents.iter().map(|incident| incident.id.0).collect();
        let mut evidence = self.evidence_of(&ids).await?;
        let mut hits = self.hits_of(&ids).await?;
        for incident in &mut incidents {
            incident.evidence = evidence.remove(&incident.id.0).unwrap_or_default();
            incident.jobs = hits.remove(&incident.id.0).unwrap_or_default();
        }
        Ok(incidents)
    }

    async fn evidence_of(&self, ids: &[Uuid]) -> Result<BTreeMap<Uuid, Vec<EvidenceRow>>> {
        let rows = sqlx::query(
            "select e.incident_id, e.at, e.epoch, e.seq, e.sentence, e.raw,
                    exists (select 1 from fact f where f.cluster_id = i.cluster_id and f.epoch = e.epoch
                                                       and f.seq = e.seq and f.kind = $2) as is_kernel_line
             from incident_evidence e join incident i on i.id = e.incident_id
             where e.incident_id = any ($1) order by e.at, e.epoch, e.seq",
        )
        .bind(ids)
        .bind(KERNEL)
        .fetch_all(self.pool())
        .await?;
        let mut all = BTreeMap::<Uuid, Vec<EvidenceRow>>::new();
        for row in &rows {
            let evidence = EvidenceRow {
                at: stamp(row.try_get("at")?),
                epoch: row.try_get("epoch")?,
                seq: row.try_get("seq")?,
                sentence: row.try_get("sentence")?,
                raw: row.try_get("raw")?,
                is_kernel_line: row.try_get("is_kernel_line")?,
            };
            all.entry(row.try_get("incident_id")?).or_default().push(evidence);
        }
        Ok(all)
    }

    async fn hits_of(&self, ids: &[Uuid]) -> Result<BTreeMap<Uuid, Vec<HitRow>>> {
        let rows = sqlx::query(
            "select h.incident_id, h.job_id, j.name, h.because from incident_job h join job j on j.id = h.job_id
             where h.incident_id = any ($1) order by j.name, j.id",
        )
        .bind(ids)
        .fetch_all(self.pool())
        .await?;
        let mut all = BTreeMap::<Uuid, Vec<HitRow>>::new();
        for row in &rows {
            let hit = HitRow {
                id: JobId(row.try_get("job_id")?),
                name: row.try_get("name")?,
                because: row.try_get("because")?,
            };
            all.entry(row.try_get("incident_id")?).or_default().push(hit);
        }
        Ok(all)
    }
}

fn read(row: &PgRow) -> Result<IncidentRow> {
    Ok(IncidentRow {
        id: IncidentId(row.try_get("id")?),
        state: row.try_get("state")?,
        verdict: row.try_get("verdict")?,
        severity: row.try_get("severity")?,
        title: row.try_get("title")?,
        explanation: row.try_get("explanation")?,
        next_step: row.try_get("next_step")?,
        cluster: row.try_get("cluster")?,
        node: row.try_get("node")?,
        jobs: Vec::new(),
        evidence: Vec::new(),
        first_seen_at: stamp(row.try_get("first_seen_at")?),
        last_seen_at: stamp(row.try_get("last_seen_at")?),
        resolved: super::resolved(row)?,
        version: row.try_get("version")?,
    })
}
