//! Classes: waiting jobs of a queue that are equal to the dispatcher.
//!
//! Invariant: a class is named by its content, so whoever interns the same shape means the same row; a job that waits has its
//! class, or none until the next pass gives it one. What classes wait for is in [`super::verdict`]. One that had no job that waits
//! for long is removed with its history; nobody who takes it at that moment is held up, because the next pass makes it anew.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    desired,
    dispatch::{Shape, Waiting, program},
    id::{ClusterId, JobId},
    time::Timestamp,
};
use uuid::Uuid;

use super::{NewJob, gang, heads::Lost};
use crate::{Result, Store, StoreError, at, stamp};

/// The name of a class.
pub type ClassId = Uuid;

/// Jobs that get their class in one pass.
const STRAGGLERS: i64 = 5_000;
/// Classes that are looked at for whether they can go, at a time.
const IDLE: i64 = 1_000;

impl NewJob {
    /// What its priority class is worth.
    pub fn urgency(&self) -> i32 {
        self.priority.as_ref().map_or(0, |class| class.value)
    }

    /// The job as the dispatcher will look at it.
    pub fn waiting(&self) -> Waiting {
        Waiting {
            job: self.id,
            name: self.name.clone(),
            queue: self.queue.clone(),
            submitted_at: self.submitted_at,
            gang: self.gang.clone(),
            pinned: self.pinned,
            preferences: self.preferences.clone(),
            priority: self.urgency(),
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

/// Makes those of these classes that are not there and whose queues are, in the order of their ids.
pub(super) async fn make(db: &mut PgConnection, classes: &[Interned]) -> Result<()> {
    sqlx::query(
        "insert into job_class (id, queue, priority, shape)
         select distinct on (s.id) s.id, s.queue, s.priority, s.shape
         from unnest($1::uuid[], $2::text[], $3::integer[], $4::jsonb[]) as s (id, queue, priority, shape)
         join queue q on q.name = s.queue order by s.id
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
                    octet_length(rayjob)::bigint as manifest, class_id from job ",
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

/// Makes classes anew that jobs name and that are not there or cannot be read, each from its oldest job that waits. Answers how
/// many it made.
pub async fn restore(db: &mut PgConnection, lost: &[Lost]) -> Result<usize> {
    if lost.is_empty() {
        return Ok(0);
    }
    let (queues, ids): (Vec<&str>, Vec<ClassId>) =
        lost.iter().map(|(queue, id)| (queue.as_str(), *id)).unzip();
    let rows = sqlx::query(waiting!(
        "where id in (select first.id from unnest($1::text[], $2::uuid[]) as l (queue, class_id) cross join lateral (
                          select id from job where queue = l.queue and class_id = l.class_id and (state = 'queued') is true
                          order by submitted_at, id limit 1) first)"
    ))
    .bind(queues)
    .bind(&ids)
    .fetch_all(&mut *db)
    .await?;
    let (mut old, mut classes) = (Vec::<ClassId>::new(), Vec::new());
    for row in &rows {
        old.push(row.try_get("class_id")?);
        classes.push(Interned::of(&read_job(row)?)?);
    }
    sqlx::query("delete from job_class where id = any ($1)").bind(ids).execute(&mut *db).await?;
    make(db, &classes).await?;
    // Another version of this program may name it in another way.
    sqlx::query(
        "update job set class_id = s.id from unnest($1::text[], $2::uuid[], $3::uuid[]) as s (queue, old, id)
         where s.old <> s.id and job.queue = s.queue and job.class_id = s.old and (job.state = 'queued') is true",
    )
    .bind(classes.iter().map(|class| class.queue.as_str()).collect::<Vec<_>>())
    .bind(old)
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(classes.len())
}

/// Removes classes that had no job that waits since `before`, with their histories; those of which a job waits or runs stay.
/// Answers how many it looked at, and how many are gone.
pub async fn retire(db: &mut PgConnection, before: Timestamp, now: Timestamp) -> Result<(i64, i64)> {
    let row = sqlx::query(
        "with due as (
             select id, queue from job_class where idle_since < $1 order by idle_since limit $3 for update
         ), live as (
             select j.class_id from attempt a join job j on j.id = a.job_id
             where a.ended_at is null and exists (select 1 from due)
         ), used as (
             select id from due
             where exists (select 1 from job j where j.queue = due.queue and j.class_id = due.id and (j.state = 'queued') is true)
                or id in (select class_id from live)
         ), kept as (
             update job_class c set idle_since = $2 from used where c.id = used.id
         ), gone as (
             delete from job_class c using due where c.id = due.id and not exists (select 1 from used where used.id = due.id)
             returning c.id
         )
         select (select count(*) from due) as looked, (select count(*) from gone) as gone",
    )
    .bind(at(before))
    .bind(at(now))
    .bind(IDLE)
    .fetch_one(db)
    .await?;
    Ok((row.try_get("looked")?, row.try_get("gone")?))
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
