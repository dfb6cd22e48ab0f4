//! Told: what stands to be told on objects that arrived, and where a job came from.

use sqlx::{Row, postgres::PgRow};
use squadron_core::{
    id::{ClusterId, JobId},
    job::JobState,
    time::Timestamp,
};

use crate::{Result, Store, job::state, stamp_opt};

/// An object about which something is to be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldRow {
    pub cluster: ClusterId,
    pub uid: String,
    pub namespace: String,
    pub name: String,
    pub edited: bool,
    /// Why it is refused; empty for a job.
    pub refusal: String,
    /// Why it is refused, or what the deciders wrote about its job.
    pub sentence: String,
    pub job: Option<ToldJob>,
}

/// What became of the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldJob {
    pub id: JobId,
    pub state: JobState,
    pub reason: String,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Where a job came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    pub cluster: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub gone_at: Option<Timestamp>,
}

impl Store {
    /// Objects that stand and do not tell the end of their job yet; at most `limit` of each cluster, those that became jobs
    /// first.
    pub async fn arrivals_to_tell(&self, limit: i64) -> Result<Vec<ToldRow>> {
        let rows = sqlx::query(
            "select a.cluster_id, a.uid, a.namespace, a.name, a.edited, a.refusal, a.sentence as refused_because, a.job_id,
                    j.state, j.started_at, j.ended_at,
                    case when t.decided_at is null then j.reason else t.reason end as reason,
                    case when t.decided_at is null then j.sentence else t.sentence end as sentence
             from (select *, row_number() over (partition by cluster_id order by job_id is null, uid) as place
                   from arrival where gone_at is null and settled_at is null) a
             left join job j on j.id = a.job_id left join job_told t on t.job_id = a.job_id where a.place <= $1 order by a.cluster_id, a.uid",
        )
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }

    /// The object that a job came from, if it came from one.
    pub async fn source_of_job(&self, job: JobId) -> Result<Option<Source>> {
        let row = sqlx::query(
            "select c.name as cluster, a.namespace, a.name, a.uid, a.gone_at
             from arrival a join cluster c on c.id = a.cluster_id where a.job_id = $1",
        )
        .bind(job.0)
        .fetch_optional(self.pool())
        .await?;
        row.as_ref().map(source).transpose()
    }
}

fn read(row: &PgRow) -> Result<ToldRow> {
    let job: Option<_> = row.try_get("job_id")?;
    let sentence = if job.is_some() { "sentence" } else { "refused_because" };
    Ok(ToldRow {
        cluster: ClusterId(row.try_get("cluster_id")?),
        uid: row.try_get("uid")?,
        namespace: row.try_get("namespace")?,
        name: row.try_get("name")?,
        edited: row.try_get("edited")?,
        refusal: row.try_get("refusal")?,
        sentence: row.try_get(sentence)?,
        job: job.map(|id| told_job(row, JobId(id))).transpose()?,
    })
}

fn told_job(row: &PgRow, id: JobId) -> Result<ToldJob> {
    Ok(ToldJob {
        id,
        state: state(row.try_get("state")?)?,
        reason: row.try_get("reason")?,
        started_at: stamp_opt(row.try_get("started_at")?),
        ended_at: stamp_opt(row.try_get("ended_at")?),
    })
}

fn source(row: &PgRow) -> Result<Source> {
    Ok(Source {
        cluster: row.try_get("cluster")?,
        namespace: row.try_get("namespace")?,
        name: row.try_get("name")?,
        uid: row.try_get("uid")?,
        gone_at: stamp_opt(row.try_get("gone_at")?),
    })
}
