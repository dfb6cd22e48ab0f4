//! Submissions: which jobs came by Ray's API, under which id, and with what.
//!
//! Invariant: a submission's row and its job's row are committed together, and of the submissions that are not deleted
//! each has an id of its own.

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::{id::JobId, job::JobState, time::Timestamp};
use uuid::Uuid;

use crate::{Result, Store, at, job::state, stamp, stamp_opt};

/// Submissions that one list shows, the newest.
const LISTED: i64 = 1_000;

/// The index that refuses a second submission of an id.
pub const ID_TAKEN: &str = "ray_submission_named";
/// The key that refuses a package which was removed meanwhile.
pub const PACKAGE_GONE: &str = "ray_submission_package_package_id_fkey";

/// What Ray's API keeps beside the job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSubmission {
    pub submission_id: String,
    pub entrypoint: String,
    /// JSON.
    pub metadata: Option<String>,
    /// JSON.
    pub runtime_env: Option<String>,
    pub packages: Vec<Uuid>,
}

/// A submission with what its job is doing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submitted {
    pub job: JobId,
    pub submission_id: String,
    pub entrypoint: String,
    pub metadata: Option<String>,
    pub runtime_env: Option<String>,
    pub name: String,
    pub owner: String,
    pub state: JobState,
    pub sentence: String,
    pub submitted_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Number of the newest attempt; 0 before the first.
    pub attempt: u32,
}

/// Writes the submission of a job that this transaction inserts; its packages count as used at `now`.
pub async fn insert(db: &mut PgConnection, job: JobId, new: &NewSubmission, now: Timestamp) -> Result<()> {
    sqlx::query(
        "insert into ray_submission (job_id, submission_id, entrypoint, metadata, runtime_env)
         values ($1, $2, $3, $4, $5)",
    )
    .bind(job.0)
    .bind(&new.submission_id)
    .bind(&new.entrypoint)
    .bind(&new.metadata)
    .bind(&new.runtime_env)
    .execute(&mut *db)
    .await?;
    sqlx::query("insert into ray_submission_package (job_id, package_id) select $1, unnest($2::uuid[])")
        .bind(job.0)
        .bind(&new.packages)
        .execute(&mut *db)
        .await?;
    sqlx::query("update ray_package set used_at = $2 where id = any ($1)")
        .bind(&new.packages)
        .bind(at(now))
        .execute(db)
        .await?;
    Ok(())
}

/// Hides the submission from Ray's API; its id is free again. False when it is hidden already.
pub async fn delete(db: &mut PgConnection, job: JobId, now: Timestamp) -> Result<bool> {
    let done =
        sqlx::query("update ray_submission set deleted_at = $2 where job_id = $1 and deleted_at is null")
            .bind(job.0)
            .bind(at(now))
            .execute(db)
            .await?;
    Ok(done.rows_affected() == 1)
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select s.job_id, s.submission_id, s.entrypoint, s.metadata, s.runtime_env, j.name, j.owner, j.state,
                    case when t.decided_at is null then j.sentence else t.sentence end as sentence, j.submitted_at, j.started_at, j.ended_at,
                    coalesce((select max(number) from attempt a where a.job_id = s.job_id), 0) as attempt
             from ray_submission s join job j on j.id = s.job_id left join job_told t on t.job_id = s.job_id
             where s.deleted_at is null ",
            $rest
        )
    };
}

impl Store {
    /// The submission of this id.
    pub async fn submission(&self, id: &str) -> Result<Option<Submitted>> {
        let row =
            sqlx::query(select!("and s.submission_id = $1")).bind(id).fetch_optional(self.pool()).await?;
        row.as_ref().map(read).transpose()
    }

    /// The newest submissions, the newest first.
    pub async fn submissions(&self) -> Result<Vec<Submitted>> {
        // Ids of jobs grow with time.
        let rows = sqlx::query(select!("order by s.job_id desc limit $1"))
            .bind(LISTED)
            .fetch_all(self.pool())
            .await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &PgRow) -> Result<Submitted> {
    Ok(Submitted {
        job: JobId(row.try_get("job_id")?),
        submission_id: row.try_get("submission_id")?,
        entrypoint: row.try_get("entrypoint")?,
        metadata: row.try_get("metadata")?,
        runtime_env: row.try_get("runtime_env")?,
        name: row.try_get("name")?,
        owner: row.try_get("owner")?,
        state: state(row.try_get("state")?)?,
        sentence: row.try_get("sentence")?,
        submitted_at: stamp(row.try_get("submitted_at")?),
        started_at: stamp_opt(row.try_get("started_at")?),
        ended_at: stamp_opt(row.try_get("ended_at")?),
        attempt: u32::try_from(row.try_get::<i32, _>("attempt")?).unwrap_or(0),
    })
}
