//! Attempts: what they hold and are charged, and those that wait for something.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Usage, gang_total, lately},
    id::{AttemptId, ClusterId, Epoch, JobId},
    time::Timestamp,
};

use crate::{
    Result, Store, at,
    job::gang,
    queue_use::{self, Held},
    run_time::{self, Ran},
    stamp, stamp_opt,
};

/// Jobs of one kind that are let go of at a time.
pub const DUE: usize = 500;

/// An attempt as people look at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttemptRow {
    pub number: u32,
    pub cluster: String,
    pub state: String,
    pub object_name: String,
    pub chosen_because: String,
    pub ended_because: String,
    pub assigned_at: Timestamp,
    pub running_at: Option<Timestamp>,
    /// When the job last wrote a checkpoint, as far as it said.
    pub checkpointed_at: Option<Timestamp>,
    /// By the agent's clock; the word may have been long on its way.
    pub ended_at: Option<Timestamp>,
    /// When the control plane learnt of the end.
    pub end_learnt_at: Option<Timestamp>,
    /// When it was asked to stop for another job.
    pub stop_asked_at: Option<Timestamp>,
    /// How far its worker groups may grow and why, where that is less than they ask for; empty otherwise.
    pub capped_because: String,
    pub capped_at: Option<Timestamp>,
    /// The word of the proof with which it was closed as lost; empty for every other end.
    pub proof: String,
}

/// The attempt that a row's columns `job_id` and `attempt` name.
pub(crate) fn attempt_id(row: &PgRow) -> Result<Option<AttemptId>> {
    let (job, number): (Option<_>, Option<i32>) = (row.try_get("job_id")?, row.try_get("attempt")?);
    let number = number.and_then(|number| u32::try_from(number).ok());
    Ok(job.zip(number).map(|(job, number)| AttemptId { job: JobId(job), number }))
}

/// An attempt as a cluster names it.
pub type Named = (ClusterId, AttemptId);

/// Those of these attempts that were ever given to the clusters which name them.
pub async fn held(db: &mut PgConnection, named: &BTreeSet<Named>) -> Result<BTreeSet<Named>> {
    if named.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows = sqlx::query(
        "select a.cluster_id, a.job_id, a.number as attempt
         from attempt a join unnest($1::uuid[], $2::integer[], $3::uuid[]) as k (job_id, number, cluster_id)
             on a.job_id = k.job_id and a.number = k.number and a.cluster_id = k.cluster_id",
    )
    .bind(named.iter().map(|(_, attempt)| attempt.job.0).collect::<Vec<_>>())
    .bind(
        named
            .iter()
            .map(|(_, attempt)| i32::try_from(attempt.number).unwrap_or(i32::MAX))
            .collect::<Vec<_>>(),
    )
    .bind(named.iter().map(|(cluster, _)| cluster.0).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    let mut held = BTreeSet::new();
    for row in &rows {
        let cluster = ClusterId(row.try_get("cluster_id")?);
        held.extend(attempt_id(row)?.map(|attempt| (cluster, attempt)));
    }
    Ok(held)
}

/// Notes that we learnt of the ends of these attempts at `now`, of those that have ended and of which we did not know, and
/// what they teach: what their queues used, and how long those ran that ended by themselves.
pub async fn note_ends(db: &mut PgConnection, attempts: &[AttemptId], now: Timestamp) -> Result<()> {
    if attempts.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query(
        "update attempt a set end_learnt_at = $3 from unnest($1::uuid[], $2::integer[]) as s (job_id, number), job j
         where a.job_id = s.job_id and a.number = s.number and a.ended_at is not null and a.end_learnt_at is null
           and j.id = a.job_id
         returning a.state, a.assigned_at, a.running_at, a.ended_at, j.queue, j.gang, j.program, a.usage,
                   (select jsonb_object_agg(f.name, f.weight_milli) from flavor f
                    where f.weight_milli <> 1000 and a.usage ? f.name) as weights",
    )
    .bind(attempts.iter().map(|attempt| attempt.job.0).collect::<Vec<_>>())
    .bind(attempts.iter().map(|one| i32::try_from(one.number).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(at(now))
    .fetch_all(&mut *db)
    .await?;
    let mut ended = rows.iter().map(ended).collect::<Result<Vec<_>>>()?;
    ended.sort_by_key(|(held, _)| held.until);
    let (held, ran): (Vec<Held>, Vec<Option<Ran>>) = ended.into_iter().unzip();
    queue_use::add(db, &held, now).await?;
    run_time::learn(db, &ran.into_iter().flatten().collect::<Vec<_>>(), now).await
}

/// What an attempt held, and how long it ran if it ended by itself.
fn ended(row: &PgRow) -> Result<(Held, Option<Ran>)> {
    let by_itself = matches!(row.try_get("state")?, "succeeded" | "failed");
    let (queue, gang): (String, _) = (row.try_get("queue")?, gang_total(&gang(row)?));
    let (from, until) = (stamp(row.try_get("assigned_at")?), stamp(row.try_get("ended_at")?));
    let weight = weight(row)?;
    let ran = match stamp_opt(row.try_get("running_at")?).filter(|_| by_itself) {
        Some(running) => {
            let millis = u64::try_from(until.millis_since(running)).unwrap_or(0);
            let (queue, program) = (queue.clone(), row.try_get("program")?);
            Some(Ran { queue, gpus: gang.gpus, program, millis })
        }
        None => None,
    };
    Ok((Held { queue, gang, weight, from, until }, ran))
}

/// What a GPU of the attempt counts as by what its flavors weigh now; those that are ordinary are not read.
fn weight(row: &PgRow) -> Result<u32> {
    let usage = row.try_get::<Json<Usage>, _>("usage")?.0;
    let weights = row.try_get::<Option<Json<BTreeMap<String, u32>>>, _>("weights")?;
    Ok(lately::weight(&usage, |flavor| weights.as_ref()?.0.get(flavor).copied()))
}

impl Store {
    /// All attempts of a job, the first first.
    pub async fn attempts(&self, job: JobId) -> Result<Vec<AttemptRow>> {
        let rows = sqlx::query(
            "select a.number, c.name as cluster, a.state, a.object_name, a.chosen_because, a.ended_because,
                    a.assigned_at, a.running_at, a.checkpointed_at, a.ended_at, a.proof, a.capped_because, a.capped_at, a.stop_asked_at, coalesce(a.end_learnt_at, a.ended_at) as end_learnt_at
             from attempt a join cluster c on c.id = a.cluster_id where a.job_id = $1 order by a.number",
        )
        .bind(job.0)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }

    /// Jobs with an attempt of whose end we learnt before `before` and which is still held by its cluster, the earliest ends first.
    /// They are read in the order of their index, which skips what was let go of before.
    pub async fn retention_over(&self, before: Timestamp) -> Result<Vec<JobId>> {
        let ids = sqlx::query_scalar(
            "select distinct job_id from (
                 select job_id from attempt
                 where desired and ended_at is not null and coalesce(end_learnt_at, ended_at) <= $1
                 order by coalesce(end_learnt_at, ended_at) limit $2) due
             order by job_id",
        )
        .bind(at(before))
        .bind(i64::try_from(DUE).unwrap_or(i64::MAX))
        .fetch_all(self.pool())
        .await?;
        Ok(ids.into_iter().map(JobId).collect())
    }

    /// Jobs with a stopping attempt of which the agent never said that it made it, and which it does not hold: it applied
    /// a desired state without it. That it made the attempt may still be on its way, so a job that would wait again is among
    /// them only if the attempt was never accepted; of the others the agent says itself that nothing of them is left.
    pub async fn never_created(&self) -> Result<Vec<JobId>> {
        let ids = sqlx::query_scalar(
            "select a.job_id from attempt a join cluster c on c.id = a.cluster_id join job j on j.id = a.job_id
             where not a.desired and a.ended_at is null
                   and (j.cancel_requested_at is not null or a.accepted_epoch is null) and a.state = 'stopping' and a.created_at is null
                   and c.applied_generation >= a.released_generation and c.untold_since is null
             order by a.job_id limit $1",
        )
        .bind(i64::try_from(DUE).unwrap_or(i64::MAX))
        .fetch_all(self.pool())
        .await?;
        Ok(ids.into_iter().map(JobId).collect())
    }
}

/// The life whose acceptance the column `accepted_epoch` holds.
pub(crate) fn accepted_by(row: &PgRow) -> Result<Option<Epoch>> {
    let epoch: Option<i64> = row.try_get("accepted_epoch")?;
    Ok(epoch.map(|epoch| Epoch(u64::try_from(epoch).unwrap_or(0))))
}

fn read(row: &PgRow) -> Result<AttemptRow> {
    Ok(AttemptRow {
        number: u32::try_from(row.try_get::<i32, _>("number")?).unwrap_or(0),
        cluster: row.try_get("cluster")?,
        state: row.try_get("state")?,
        object_name: row.try_get("object_name")?,
        chosen_because: row.try_get("chosen_because")?,
        ended_because: row.try_get("ended_because")?,
        assigned_at: stamp(row.try_get("assigned_at")?),
        running_at: stamp_opt(row.try_get("running_at")?),
        checkpointed_at: stamp_opt(row.try_get("checkpointed_at")?),
        ended_at: stamp_opt(row.try_get("ended_at")?),
        end_learnt_at: stamp_opt(row.try_get("end_learnt_at")?),
        stop_asked_at: stamp_opt(row.try_get("stop_asked_at")?),
        proof: row.try_get("proof")?,
        capped_because: row.try_get("capped_because")?,
        capped_at: stamp_opt(row.try_get("capped_at")?),
    })
}
