//! How jobs begin: their rows and their classes, any number in two statements.
//!
//! Invariant: a job has its class and its priority from the statement that adds it, and the priority never changes afterwards,
//! so a class that changes or goes away moves no job. A job without a named class has no name here and the value 0.

use sqlx::{PgConnection, types::Json};

use super::{
    NewJob,
    class::{self, Interned},
};
use crate::{Result, at};

/// The constraint that refuses a job in a queue that does not exist.
pub const NO_SUCH_QUEUE: &str = "job_queue_fkey";

/// Adds a job to its queue.
pub async fn insert(db: &mut PgConnection, job: &NewJob) -> Result<()> {
    insert_all(db, &[job]).await
}

/// Adds jobs to their queues, all or none.
pub async fn insert_all(db: &mut PgConnection, jobs: &[&NewJob]) -> Result<()> {
    fn each<'j, T>(jobs: &'j [&'j NewJob], of: impl Fn(&'j NewJob) -> T) -> Vec<T> {
        jobs.iter().map(|job| of(job)).collect()
    }
    let classes = jobs.iter().map(|job| Interned::of(&job.waiting())).collect::<Result<Vec<_>>>()?;
    class::make(db, &classes).await?;
    sqlx::query(
        "insert into job (id, name, namespace, queue, state, sentence, owner, manifest, rayjob, gang, pinned_cluster,
                          submitted_at, on_lost, on_lost_because, preferences, resumes, priority_class, priority, class_id,
                          program)
         select id, name, namespace, queue, 'queued', sentence, owner, manifest, rayjob, gang, pinned_cluster,
                submitted_at, on_lost, on_lost_because, preferences, resumes, priority_class, priority, class_id, program
         from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                     $9::jsonb[], $10::uuid[], $11::timestamptz[], $12::text[], $13::text[], $14::jsonb[], $15::boolean[],
                     $16::text[], $17::integer[], $18::uuid[], $19::text[])
              as s (id, name, namespace, queue, sentence, owner, manifest, rayjob, gang, pinned_cluster, submitted_at, on_lost,
                    on_lost_because, preferences, resumes, priority_class, priority, class_id, program)",
    )
    .bind(each(jobs, |job| job.id.0))
    .bind(each(jobs, |job| job.name.as_str()))
    .bind(each(jobs, |job| job.namespace.as_str()))
    .bind(each(jobs, |job| job.queue.as_str()))
    .bind(each(jobs, |job| job.sentence.as_str()))
    .bind(each(jobs, |job| job.owner.as_str()))
    .bind(each(jobs, |job| job.manifest.as_str()))
    .bind(each(jobs, |job| job.rayjob.as_str()))
    .bind(each(jobs, |job| Json(&job.gang)))
    .bind(each(jobs, |job| job.pinned.map(|cluster| cluster.0)))
    .bind(each(jobs, |job| at(job.submitted_at)))
    .bind(each(jobs, |job| job.on_lost.policy.word()))
    .bind(each(jobs, |job| job.on_lost.because.as_str()))
    .bind(each(jobs, |job| Json(&job.preferences)))
    .bind(each(jobs, |job| resumes(&job.rayjob)))
    .bind(each(jobs, |job| job.priority.as_ref().map(|class| class.name.as_str())))
    .bind(each(jobs, NewJob::urgency))
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.shape.program.as_str()).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

/// Whether the manifest says that the job goes on from its last checkpoint. The database could not read every manifest: one
/// may hold NUL.
fn resumes(rayjob: &str) -> bool {
    let manifest: Option<serde_json::Value> = serde_json::from_str(rayjob).ok();
    let says = manifest.as_ref().and_then(|all| all.pointer("/metadata/annotations/squadron.dev~1resumes"));
    says.is_some_and(|says| says == "true" || says == true)
}
