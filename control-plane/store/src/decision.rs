//! Decisions: what the dispatcher decided about each job, and when.
//!
//! Invariant: a row is written in the transaction that makes the decision true, so a placement without its reasons does not
//! exist. A job keeps all its placements and the newest [`KEPT`] other rows of its own: parts of preemptions, and waits for
//! which it heard something else than its class. For what it waited otherwise is the history of its class, as far as that falls
//! into times when the job waited; see [`crate::job::class_wait`].

#[cfg(test)]
mod tests;

use crate::{
    Result, Store, at,
    job::said::{self, Said},
    stamp,
};
use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Assign, Blocker, Choice},
    id::{AttemptId, ClusterId, JobId},
    time::Timestamp,
};

/// Rows of one job's own that are kept besides its placements.
pub const KEPT: i32 = 100;

/// A decision as people look at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Counts from 1 in each job.
    pub number: u32,
    /// Of a placement, or the one that was asked to stop.
    pub attempt: Option<u32>,
    /// `assigned`, `blocked`, `stopped` (for another job), `makes_room` (others were asked to stop or to shrink for it),
    /// `shrunk` (worker groups of it have to be smaller) or `lifted` (they may grow again).
    pub outcome: String,
    pub cause: String,
    pub sentence: String,
    /// Of a placement; empty otherwise.
    pub cluster: String,
    pub choice: Choice,
    pub blockers: Vec<Blocker>,
    /// Of waits that older versions wrote.
    pub position: Option<u32>,
    /// Of the leader that decided.
    pub term: i64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// How often it was told anew for the same causes.
    pub times: u64,
}

/// The leader that decides, and the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct By {
    pub term: i64,
    pub now: Timestamp,
}

/// Writes placements of different jobs. Call it in the transaction that makes the attempts.
pub async fn note_assigned(db: &mut PgConnection, placed: &[(&Assign, AttemptId)], by: By) -> Result<()> {
    fn best(assign: &Assign) -> Option<&squadron_core::dispatch::Ranked> {
        assign.choice.candidates.first()
    }
    let cause = |assign| best(assign).and_then(|best| best.terms.iter().find(|term| term.decided));
    sqlx::query(
        "insert into decision (job_id, number, attempt, outcome, cause, sentence, cluster, choice, term, first_at, last_at)
         select s.job_id, coalesce((select max(number) from decision where job_id = s.job_id), 0) + 1, s.attempt, 'assigned',
                s.cause, s.sentence, s.cluster, s.choice, $7, $8, $8
         from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::jsonb[])
             as s (job_id, attempt, cause, sentence, cluster, choice)",
    )
    .bind(placed.iter().map(|(_, attempt)| attempt.job.0).collect::<Vec<_>>())
    .bind(placed.iter().map(|(_, one)| i32::try_from(one.number).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(placed.iter().map(|(one, _)| cause(one).map_or("", |term| term.name.as_str())).collect::<Vec<_>>())
    .bind(placed.iter().map(|(assign, _)| assign.because.as_str()).collect::<Vec<_>>())
    .bind(placed.iter().map(|(one, _)| best(one).map_or("", |best| best.cluster.as_str())).collect::<Vec<_>>())
    .bind(placed.iter().map(|(assign, _)| Json(&assign.choice)).collect::<Vec<_>>())
    .bind(by.term)
    .bind(at(by.now))
    .execute(db)
    .await?;
    Ok(())
}

/// What a preemption means to one of those whom it concerns.
#[derive(Clone, Copy, Debug)]
pub struct Note<'a> {
    pub outcome: &'static str,
    pub cause: &'a str,
    pub sentence: &'a str,
    pub cluster: ClusterId,
}

/// Writes a part of a preemption into the history of `job`. Call it in the transaction that carries it out.
pub async fn note(
    db: &mut PgConnection,
    job: JobId,
    attempt: Option<u32>,
    note: Note<'_>,
    by: By,
) -> Result<()> {
    sqlx::query(
        "insert into decision (job_id, number, attempt, outcome, cause, sentence, cluster, term, first_at, last_at)
         select $1, coalesce((select max(number) from decision where job_id = $1), 0) + 1, $2, $3, $4, $5,
                coalesce((select name from cluster where id = $6), ''), $7, $8, $8",
    )
    .bind(job.0)
    .bind(attempt.map(|number| i32::try_from(number).unwrap_or(i32::MAX)))
    .bind(note.outcome)
    .bind(note.cause)
    .bind(note.sentence)
    .bind(note.cluster.0)
    .bind(by.term)
    .bind(at(by.now))
    .execute(db)
    .await?;
    Ok(())
}

/// Writes why jobs wait that hear something of their own, for those about which people see something new. Call it in the
/// transaction that writes the same for the jobs. No job may come twice.
pub(crate) async fn note_blocked(db: &mut PgConnection, waits: &[Said<'_>], by: By) -> Result<()> {
    said::note(db, waits, by, (WRITE, FORGET, KEPT)).await
}

const WRITE: &str = "
    with said as (
        select * from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[]) as s (job_id, cause, sentence, blockers)
    ), newest as (
        select s.job_id, d.number, d.outcome = 'blocked' and d.cause = s.cause as same
        from said s, lateral (select number, outcome, cause from decision where job_id = s.job_id
                              order by number desc limit 1) d
    ), told as (
        update decision d set sentence = s.sentence, blockers = s.blockers, term = $5, last_at = $6,
               times = d.times + 1
        from said s join newest n using (job_id)
        where d.job_id = n.job_id and d.number = n.number and n.same
    )
    insert into decision (job_id, number, outcome, cause, sentence, blockers, term, first_at, last_at)
    select s.job_id, coalesce(n.number, 0) + 1, 'blocked', s.cause, s.sentence, s.blockers, $5, $6, $6
    from said s left join newest n using (job_id) where n.same is not true";

const FORGET: &str = "
    delete from decision d using unnest($1::uuid[]) as j (job_id)
    where d.job_id = j.job_id and d.outcome = 'blocked'
      and d.number <= (select max(number) from decision where job_id = j.job_id) - $2";

impl Store {
    /// Decisions of a job, the newest first, from the one before `before` on.
    pub async fn decisions(&self, job: JobId, before: Option<u32>, limit: i64) -> Result<Vec<Decision>> {
        let rows = sqlx::query(
            "with j as (select class_id, state, submitted_at, ended_at from job where id = $1),
             waited as (
                 select coalesce(lag(coalesce(a.end_learnt_at, a.ended_at)) over (order by a.number), j.submitted_at)
                            as from_at, a.assigned_at as to_at
                 from attempt a, j where a.job_id = $1
                 union all
                 select coalesce((select max(coalesce(end_learnt_at, ended_at)) from attempt where job_id = $1),
                                 j.submitted_at),
                        case when j.state = 'queued' then 'infinity' else coalesce(j.ended_at, 'infinity') end
                 from j where j.state in ('queued', 'cancelled') or not exists (select 1 from attempt where job_id = $1)
             ), whole as (
                 select number as place, attempt, outcome, cause, sentence, cluster, choice, blockers, queue_position, term,
                        first_at, last_at, times
                 from decision where job_id = $1
                 union all
                 select 0, null, 'blocked', w.cause, w.sentence, '', '{\"candidates\":[],\"refused\":[],\"left_out\":0}',
                        w.blockers, null, w.term, greatest(w.first_at, p.from_at),
                        greatest(w.first_at, p.from_at, least(w.last_at, p.to_at)), w.times
                 from j join class_wait w on w.class_id = j.class_id
                 join waited p on p.from_at < p.to_at and w.first_at < p.to_at and coalesce(w.over_at, 'infinity') > p.from_at
             ), numbered as (
                 select *, row_number() over (order by first_at, place)::integer as number from whole
             )
             select * from numbered where $2::integer is null or number < $2 order by number desc limit $3",
        )
        .bind(job.0)
        .bind(before.map(|number| i32::try_from(number).unwrap_or(i32::MAX)))
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &PgRow) -> Result<Decision> {
    let small = |name| -> Result<Option<u32>> {
        Ok(row.try_get::<Option<i32>, _>(name)?.and_then(|number| u32::try_from(number).ok()))
    };
    Ok(Decision {
        number: small("number")?.unwrap_or(0),
        attempt: small("attempt")?,
        outcome: row.try_get("outcome")?,
        cause: row.try_get("cause")?,
        sentence: row.try_get("sentence")?,
        cluster: row.try_get("cluster")?,
        choice: row.try_get::<Json<Choice>, _>("choice")?.0,
        blockers: row.try_get::<Json<Vec<Blocker>>, _>("blockers")?.0,
        position: small("queue_position")?,
        term: row.try_get("term")?,
        first_at: stamp(row.try_get("first_at")?),
        last_at: stamp(row.try_get("last_at")?),
        times: u64::try_from(row.try_get::<i64, _>("times")?).unwrap_or(0),
    })
}
