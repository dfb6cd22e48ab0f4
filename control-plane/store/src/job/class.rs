//! Classes: waiting jobs of a queue that are equal to the dispatcher.
//!
//! Invariant: a class is named by its content, so whoever interns the same shape means the same row; a job that waits has its
//! class, or none until the next pass gives it one. What classes wait for is in [`super::verdict`]. Repaired by the next pass.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    desired,
    dispatch::{Shape, Waiting, program},
    id::{ClusterId, JobId},
};
use uuid::Uuid;

use super::{NewJob, gang};
use crate::{Result, Store, StoreError, stamp};

/// The name of a class.
pub type ClassId = Uuid;

/// Jobs that get their class in one pass.
const STRAGGLERS: i64 = 5_000;

impl NewJob {
    /// The job as the dispatcher will look at it.
    pub fn waiting(&self, priority: i32) -> Waiting {
        Waiting {
            job: self.id,
            name: self.name.clone(),
            queue: self.queue.clone(),
            submitted_at: self.submitted_at,
            gang: self.gang.clone(),
            pinned: self.pinned,
            preferences: self.preferences.clone(),
            priority,
            manifest: desired::rounded(self.rayjob.len() as u64),
            program: ran_by(&self.rayjob),
            expected_ms: None,
            behind: 0,
        }
    }
}

/// The program that a manifest names, empty where there is none.
fn ran_by(rayjob: &str) -> String {
    let manifest: Option<serde_json::Value> = serde_json::from_str(rayjob).ok();
    let entrypoint = manifest.as_ref().and_then(|all| all.pointer("/spec/entrypoint")?.as_str());
    entrypoint.map(program).unwrap_or_default()
}

/// A class that may have to be made.
pub(crate) struct Interned {
    pub(crate) id: ClassId,
    pub(crate) queue: String,
    pub(crate) shape: Shape,
}

impl Interned {
    /// The class of a job.
    pub(crate) fn of(job: &Waiting) -> Result<Interned> {
        Interned::new(job.queue.clone(), Shape::of(job))
    }

    fn new(queue: String, shape: Shape) -> Result<Interned> {
        let content = serde_json::to_vec(&(&queue, &shape))
            .map_err(|problem| StoreError::corrupt("job_class", problem.to_string()))?;
        let digest = Sha256::digest(content);
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Ok(Interned { id: Uuid::from_bytes(id), queue, shape })
    }
}

/// Makes those of these classes that are not there, in the order of their ids.
async fn make(db: &mut PgConnection, classes: &[Interned]) -> Result<()> {
    sqlx::query(
        "insert into job_class (id, queue, priority, shape)
         select distinct on (id) id, queue, priority, shape
         from unnest($1::uuid[], $2::text[], $3::integer[], $4::jsonb[]) as s (id, queue, priority, shape) order by id
         on conflict (id) do nothing",
    )
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.queue.as_str()).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.shape.priority).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| Json(&class.shape)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// Notes how large jobs of these classes are expected to be, of those of which something else was said.
pub async fn note_sizes(db: &mut PgConnection, sizes: &BTreeMap<ClassId, f64>) -> Result<()> {
    sqlx::query(
        "update job_class set size = s.size
         from (select c.id, s.size from unnest($1::uuid[], $2::float8[]) as s (id, size) join job_class c on c.id = s.id
               where c.size <> s.size order by c.id for update of c) s
         where job_class.id = s.id",
    )
    .bind(sizes.keys().copied().collect::<Vec<_>>())
    .bind(sizes.values().copied().collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

macro_rules! waiting {
    ($rest:literal) => {
        concat!(
            "select id, name, queue, submitted_at, gang, pinned_cluster, preferences, priority, program,
                    octet_length(rayjob)::bigint as manifest from job ",
            $rest
        )
    };
}

/// Gives classes to jobs that wait without one, of each queue the oldest first. Answers how many got theirs.
pub async fn give(db: &mut PgConnection) -> Result<usize> {
    let rows = sqlx::query(waiting!(
        "where id in (select j.id from queue q cross join lateral (
                          select id from job where queue = q.name and (state = 'queued') is true and class_id is null
                          order by submitted_at, id limit $1) j limit $1)"
    ))
    .bind(STRAGGLERS)
    .fetch_all(&mut *db)
    .await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let jobs = rows.iter().map(read_job).collect::<Result<Vec<_>>>()?;
    let classes = jobs.iter().map(Interned::of).collect::<Result<Vec<_>>>()?;
    make(db, &classes).await?;
    sqlx::query(
        "update job set class_id = s.class_id from unnest($1::uuid[], $2::uuid[]) as s (id, class_id)
         where job.id = s.id and job.state = 'queued' and job.class_id is null",
    )
    .bind(jobs.iter().map(|job| job.job.0).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(jobs.len())
}

/// The class that a job has with this priority, made if need be. Call it in the transaction that adds the job.
pub(crate) async fn with_priority(db: &mut PgConnection, job: JobId, priority: i32) -> Result<ClassId> {
    let row = sqlx::query(waiting!("where id = $1")).bind(job.0).fetch_one(&mut *db).await?;
    let class = Interned::of(&Waiting { priority, ..read_job(&row)? })?;
    let id = class.id;
    make(db, &[class]).await?;
    Ok(id)
}

fn read_job(row: &PgRow) -> Result<Waiting> {
    let manifest = u64::try_from(row.try_get::<i64, _>("manifest")?).unwrap_or(0);
    Ok(Waiting {
        job: JobId(row.try_get("id")?),
        name: row.try_get("name")?,
        queue: row.try_get("queue")?,
        submitted_at: stamp(row.try_get("submitted_at")?),
        gang: gang(row)?,
        pinned: row.try_get::<Option<_>, _>("pinned_cluster")?.map(ClusterId),
        preferences: row.try_get::<Json<_>, _>("preferences")?.0,
        priority: row.try_get("priority")?,
        manifest: desired::rounded(manifest),
        program: row.try_get("program")?,
        expected_ms: None,
        behind: 0,
    })
}

impl Store {
    /// The job as the dispatcher looks at it; `None` if it does not wait.
    pub async fn waiting_job(&self, job: JobId) -> Result<Option<Waiting>> {
        let row = sqlx::query(waiting!("where id = $1 and state = 'queued'"))
            .bind(job.0)
            .fetch_optional(self.pool())
            .await?;
        row.as_ref().map(read_job).transpose()
    }
}
