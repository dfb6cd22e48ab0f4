//! Classes: waiting jobs of a queue that are equal to the dispatcher, with what they wait for, written once for all of them.
//!
//! Invariant: a class is named by its content, so whoever interns the same shape means the same row; a job that waits has its
//! class, or none until the next pass gives it one. What a class waits for holds for each of its jobs that waits, also for one
//! that came after it was written. A pass reads the oldest jobs of each class, as many as could start and one more, and
//! writes only classes about which something changed. Repaired by the next pass, which does all of this anew.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    desired,
    dispatch::{Blocked, Shape, Vacancy, Waiting},
    id::{ClusterId, JobId},
    time::Timestamp,
};
use uuid::Uuid;

use super::{NewJob, gang};
use crate::{Result, Store, StoreError, at, decision::By, stamp};

/// The name of a class.
pub type ClassId = Uuid;

/// Classes of a queue that are looked at, all of them as long as there are no more.
const CLASSES: i64 = 1_000;
/// Where a queue has more, those of so many jobs at the head of its line are.
const HEAD: i64 = 10_000;
/// Jobs of a queue that one pass reads, about; of each class at least [`LEAST`].
const READ: u64 = 4_000;
const LEAST: u64 = 16;
/// Jobs that get their class in one pass.
const STRAGGLERS: i64 = 5_000;
/// Age of a decision that is written again although nothing changed, in milliseconds.
const REFRESH_MS: i64 = 10_000;

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
            overtaken: 0,
            priority,
            manifest: desired::rounded(self.rayjob.len() as u64),
            more: false,
        }
    }
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

/// Makes the class unless it is there.
async fn make(db: &mut PgConnection, classes: &[Interned]) -> Result<()> {
    sqlx::query(
        "insert into job_class (id, queue, shape) select * from unnest($1::uuid[], $2::text[], $3::jsonb[])
         on conflict (id) do nothing",
    )
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.queue.as_str()).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| Json(&class.shape)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// Gives classes to jobs that wait without one, the oldest first. Answers how many got theirs.
pub async fn give(db: &mut PgConnection) -> Result<usize> {
    let rows = sqlx::query(
        "select id, name, queue, submitted_at, gang, pinned_cluster, priority, octet_length(rayjob)::bigint as manifest
         from job where state = 'queued' and class_id is null order by submitted_at, id limit $1",
    )
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

/// The job moves to the class of this priority, in the transaction that adds it.
pub(crate) async fn reprioritise(db: &mut PgConnection, job: JobId, priority: i32) -> Result<ClassId> {
    let row = sqlx::query(
        "select c.queue, c.shape from job j join job_class c on c.id = j.class_id where j.id = $1",
    )
    .bind(job.0)
    .fetch_one(&mut *db)
    .await?;
    let shape = Shape { priority, ..row.try_get::<Json<Shape>, _>("shape")?.0 };
    let class = Interned::new(row.try_get("queue")?, shape)?;
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
        overtaken: 0,
        priority: row.try_get("priority")?,
        manifest: desired::rounded(manifest),
        more: false,
    })
}

impl Store {
    /// The job as the dispatcher looks at it; `None` if it does not wait.
    pub async fn waiting_job(&self, job: JobId) -> Result<Option<Waiting>> {
        let row = sqlx::query(
            "select id, name, queue, submitted_at, gang, pinned_cluster, priority, octet_length(rayjob)::bigint as manifest
             from job where id = $1 and state = 'queued'",
        )
        .bind(job.0)
        .fetch_optional(self.pool())
        .await?;
        row.as_ref().map(read_job).transpose()
    }
}

/// Waiting jobs that a pass looks at, with the class of each.
pub async fn heads(db: &mut PgConnection, vacancy: &Vacancy) -> Result<Vec<(Waiting, ClassId)>> {
    let classes = live(db).await?;
    let mut per_queue = BTreeMap::<&str, u64>::new();
    for class in &classes {
        *per_queue.entry(class.queue.as_str()).or_default() += 1;
    }
    let limit = |class: &Interned| {
        let fair = (READ / per_queue.get(class.queue.as_str()).copied().unwrap_or(1)).max(LEAST);
        i64::try_from(vacancy.most(&class.shape).min(fair).max(1)).unwrap_or(i64::MAX)
    };
    let limits: Vec<i64> = classes.iter().map(limit).collect();
    let rows = sqlx::query(
        "select c.place, j.id, j.name, j.submitted_at
         from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality as c (id, queue, most, place)
         cross join lateral (select id, name, submitted_at from job
                             where queue = c.queue and class_id = c.id and state = 'queued'
                             order by submitted_at, id limit c.most + 1) j
         order by c.place, j.submitted_at, j.id",
    )
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.queue.as_str()).collect::<Vec<_>>())
    .bind(&limits)
    .fetch_all(db)
    .await?;
    let mut heads = Vec::<(Waiting, ClassId)>::with_capacity(rows.len());
    let (mut of_class, mut before) = (0, None);
    for row in &rows {
        let place = usize::try_from(row.try_get::<i64, _>("place")?).unwrap_or(1) - 1;
        (of_class, before) = (if before == Some(place) { of_class + 1 } else { 1 }, Some(place));
        let (Some(class), Some(most)) = (classes.get(place), limits.get(place)) else { continue };
        if of_class > *most {
            if let Some((last, _)) = heads.last_mut() {
                last.more = true;
            }
            continue;
        }
        let (id, submitted_at) = (JobId(row.try_get("id")?), stamp(row.try_get("submitted_at")?));
        let job = class.shape.waiting(id, row.try_get("name")?, class.queue.clone(), submitted_at);
        heads.push((job, class.id));
    }
    Ok(heads)
}

/// The classes of jobs that wait. Of a queue that has too many, those at the head of its line.
async fn live(db: &mut PgConnection) -> Result<Vec<Interned>> {
    let mut found = BTreeMap::<String, Vec<ClassId>>::new();
    for row in &jump(db).await? {
        found.entry(row.try_get("queue")?).or_default().push(row.try_get("class_id")?);
    }
    let most = usize::try_from(CLASSES).unwrap_or(usize::MAX);
    let (many, few): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, classes)| classes.len() > most);
    let mut ids: Vec<ClassId> = few.into_iter().flat_map(|(_, classes)| classes).collect();
    if !many.is_empty() {
        let queues: Vec<String> = many.into_iter().map(|(queue, _)| queue).collect();
        ids.extend(at_head(db, &queues).await?);
    }
    let rows = sqlx::query("select id, queue, shape from job_class where id = any ($1) order by id")
        .bind(ids)
        .fetch_all(db)
        .await?;
    rows.iter()
        .map(|row| {
            let shape = row.try_get::<Json<Shape>, _>("shape")?.0;
            Ok(Interned { id: row.try_get("id")?, queue: row.try_get("queue")?, shape })
        })
        .collect()
}

/// Queues with their classes, found by jumping from one to the next in the index; one more than is looked at.
async fn jump(db: &mut PgConnection) -> Result<Vec<PgRow>> {
    let rows = sqlx::query(
        "select q.name as queue, known.class_id
         from queue q cross join lateral (
             with recursive found (class_id, n) as (
                 (select class_id, 1 from job where queue = q.name and state = 'queued' and class_id is not null
                  order by class_id limit 1)
                 union all
                 select next.class_id, found.n + 1 from found cross join lateral (
                     select class_id from job where queue = q.name and state = 'queued' and class_id > found.class_id
                     order by class_id limit 1) next
                 where found.n <= $1
             )
             select class_id from found) known",
    )
    .bind(CLASSES)
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Classes of the jobs at the head of the lines of these queues.
async fn at_head(db: &mut PgConnection, queues: &[String]) -> Result<Vec<ClassId>> {
    Ok(sqlx::query_scalar(
        "select distinct first.class_id from unnest($1::text[]) as q (name) cross join lateral (
             select class_id from job where queue = q.name and state = 'queued'
             order by -(priority::bigint), submitted_at, id limit $2) first
         where first.class_id is not null",
    )
    .bind(queues)
    .bind(HEAD)
    .fetch_all(db)
    .await?)
}

/// Why a class waits.
pub type Verdict<'a> = (ClassId, &'a Blocked);

/// Writes why classes wait, each by its oldest job; all others wait for nothing any more. Answers those about which people see
/// something new. No class may come twice.
pub async fn save(db: &mut PgConnection, verdicts: &[Verdict<'_>], by: By) -> Result<Vec<ClassId>> {
    clear(db, verdicts, by.now).await?;
    let said = |(_, one): &Verdict<'_>| one.blockers.first().map_or("", |first| first.code.word());
    let noted = |(_, one): &Verdict<'_>| Some(one.job.0).filter(|_| !one.note.is_empty());
    let rows = sqlx::query(
        "with said as (
             select * from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::text[], $6::uuid[])
                 as s (id, reason, cause, blockers, note, note_job)
         ), old as (
             select c.id, c.decided_at is null or (c.blockers, c.note, c.note_job)
                          is distinct from (s.blockers, s.note, s.note_job) as differs,
                    c.decided_at is null or c.cause <> s.cause as others
             from job_class c join said s on s.id = c.id order by c.id for update of c
         )
         update job_class c set reason = s.reason, cause = s.cause, blockers = s.blockers, note = s.note,
                note_job = s.note_job, since = case when old.others then $7 else c.since end, decided_at = $7
         from said s join old on old.id = s.id
         where c.id = s.id and (old.differs or c.decided_at <= $8)
         returning c.id, old.differs",
    )
    .bind(verdicts.iter().map(|(class, _)| *class).collect::<Vec<_>>())
    .bind(verdicts.iter().map(said).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|(_, one)| cause(one)).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|(_, one)| Json(one.blockers.as_ref())).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|(_, one)| one.note.as_str()).collect::<Vec<_>>())
    .bind(verdicts.iter().map(noted).collect::<Vec<_>>())
    .bind(at(by.now))
    .bind(at(by.now.plus_millis(-REFRESH_MS)))
    .fetch_all(&mut *db)
    .await?;
    let news = rows.iter().filter(|row| row.try_get("differs").unwrap_or(false)).map(|row| row.try_get("id"));
    let news = news.collect::<std::result::Result<Vec<ClassId>, _>>()?;
    let told: Vec<_> = verdicts.iter().filter(|(class, _)| news.contains(class)).copied().collect();
    super::class_wait::note(db, &told, by).await?;
    Ok(news)
}

/// The codes with their clusters, by rank: what makes two waits the same.
pub(crate) fn cause(blocked: &Blocked) -> String {
    let words = blocked.blockers.iter().map(|blocker| format!("{} {}", blocker.code.word(), blocker.cluster));
    words.map(|word| word.trim_end().to_owned()).collect::<Vec<_>>().join("; ")
}

/// No job of any other class waits, or none was looked at.
async fn clear(db: &mut PgConnection, verdicts: &[Verdict<'_>], now: Timestamp) -> Result<()> {
    let gone: Vec<ClassId> = sqlx::query_scalar(
        "update job_class set decided_at = null, reason = '', cause = '', blockers = '[]', note = '', note_job = null,
                since = null
         where decided_at is not null and id <> all ($1) returning id",
    )
    .bind(verdicts.iter().map(|(class, _)| *class).collect::<Vec<_>>())
    .fetch_all(&mut *db)
    .await?;
    super::class_wait::over(db, &gone, now).await
}
