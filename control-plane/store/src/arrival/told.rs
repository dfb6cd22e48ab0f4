//! Told: what stands to be told on objects that arrived, and where a job came from.

use sqlx::{Row, postgres::PgRow};
use squadron_core::{
    id::{ClusterId, JobId},
    job::JobState,
    time::Timestamp,
};

use crate::{Result, Store, StoreError, job::state, stamp_opt};

/// An object about which something is to be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldRow {
    pub cluster: ClusterId,
    pub uid: String,
    pub namespace: String,
    pub name: String,
    pub edited: bool,
    /// Why it is refused, or [`UNREADABLE`]; empty for a job.
    pub refusal: String,
    /// Why it is refused, or what the deciders wrote about its job.
    pub sentence: String,
    pub place: Place,
    /// Absent for one that is refused, and for one whose job cannot be read.
    pub job: Option<ToldJob>,
}

/// Where an object stands in the order in which a cluster's are read: those that became jobs first, then by uid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    pub refused: bool,
    pub uid: String,
}

/// What is asked for of one cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    pub cluster: ClusterId,
    /// Only what stands behind this; absent from the beginning.
    pub after: Option<Place>,
    /// Rows at most.
    pub limit: u32,
}

/// The reason that is told on an object whose job cannot be read.
pub const UNREADABLE: &str = "UNREADABLE";

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
    /// Objects that stand and do not tell the end of their job yet, page by page: one answer for each, in their order. A page
    /// with fewer rows than its limit is the last of its cluster.
    pub async fn arrivals_to_tell(&self, pages: &[Page]) -> Result<Vec<Vec<ToldRow>>> {
        let numbers: Vec<i32> = (0..).take(pages.len()).collect();
        let after = |page: &Page| page.after.clone().unwrap_or(Place { refused: false, uid: String::new() });
        let (refused, uids): (Vec<bool>, Vec<String>) =
            pages.iter().map(after).map(|place| (place.refused, place.uid)).unzip();
        let rows = sqlx::query(TO_TELL)
            .bind(numbers)
            .bind(pages.iter().map(|page| page.cluster.0).collect::<Vec<_>>())
            .bind(refused)
            .bind(uids)
            .bind(pages.iter().map(|page| i64::from(page.limit)).collect::<Vec<_>>())
            .fetch_all(self.pool())
            .await?;
        let mut told = vec![Vec::new(); pages.len()];
        for row in &rows {
            let number = usize::try_from(row.try_get::<i32, _>("page")?).unwrap_or(usize::MAX);
            if let Some(page) = told.get_mut(number) {
                page.push(read(row)?);
            }
        }
        Ok(told)
    }

    /// The objects that became these jobs, and whether something is still to be told on them.
    pub async fn arrivals_of(&self, jobs: &[JobId]) -> Result<Vec<(ToldRow, bool)>> {
        let rows = sqlx::query(
            "select a.cluster_id, a.uid, a.namespace, a.name, a.edited, a.refusal, a.sentence as refused_because, a.job_id,
                    j.state, j.started_at, j.ended_at, a.gone_at is null and a.settled_at is null as stands,
                    case when t.decided_at is null then j.reason else t.reason end as reason,
                    case when t.decided_at is null then j.sentence else t.sentence end as sentence
             from arrival a join job j on j.id = a.job_id left join job_told t on t.job_id = a.job_id
             where a.job_id = any ($1)",
        )
        .bind(jobs.iter().map(|job| job.0).collect::<Vec<_>>())
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(|row| Ok((read(row)?, row.try_get("stands")?))).collect()
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

/// Each cluster's rows come from an index in their order, so a page costs what it holds.
const TO_TELL: &str = "
    select k.page, a.cluster_id, a.uid, a.namespace, a.name, a.edited, a.refusal, a.sentence as refused_because, a.job_id,
           j.state, j.started_at, j.ended_at,
           case when t.decided_at is null then j.reason else t.reason end as reason,
           case when t.decided_at is null then j.sentence else t.sentence end as sentence
    from unnest($1::integer[], $2::uuid[], $3::boolean[], $4::text[], $5::bigint[])
         as k (page, cluster, refused, uid, most)
    join lateral (
        select * from arrival
        where cluster_id = k.cluster and gone_at is null and settled_at is null
            and ((job_id is null), uid) > (k.refused, k.uid)
        order by (job_id is null), uid limit k.most
    ) a on true
    left join job j on j.id = a.job_id left join job_told t on t.job_id = a.job_id
    order by k.page, (a.job_id is null), a.uid";

fn read(row: &PgRow) -> Result<ToldRow> {
    let id: Option<_> = row.try_get("job_id")?;
    let sentence = if id.is_some() { "sentence" } else { "refused_because" };
    let told = ToldRow {
        cluster: ClusterId(row.try_get("cluster_id")?),
        uid: row.try_get("uid")?,
        namespace: row.try_get("namespace")?,
        name: row.try_get("name")?,
        edited: row.try_get("edited")?,
        refusal: row.try_get("refusal")?,
        sentence: row.try_get(sentence)?,
        place: Place { refused: id.is_none(), uid: row.try_get("uid")? },
        job: None,
    };
    let Some(id) = id.map(JobId) else { return Ok(told) };
    // One job that cannot be read is told so, and keeps no other from being told.
    match told_job(row, id) {
        Ok(job) => Ok(ToldRow { job: Some(job), ..told }),
        Err(StoreError::Corrupt { problem, .. }) => {
            let sentence =
                format!("its job {id} cannot be read by this version of the control plane: {problem}");
            Ok(ToldRow { refusal: UNREADABLE.to_owned(), sentence, ..told })
        }
        Err(error) => Err(error),
    }
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
