//! Decisions: what the dispatcher decided about each job, and when.
//!
//! Invariant: a row is written in the transaction that makes the decision true, so a placement without its reasons does not
//! exist. Consecutive waits for the same causes are one row. A job keeps all its placements and its newest [`KEPT`] rows;
//! the numbers show where older ones are missing.

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Assign, Blocked, Blocker, Choice},
    id::{AttemptId, ClusterId, JobId},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Store, at, stamp};

/// Rows of one job that are kept besides its placements.
pub const KEPT: i32 = 100;

/// A decision as people look at it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Counts from 1 in each job.
    pub number: u32,
    /// Of a placement, or the one that was asked to stop.
    pub attempt: Option<u32>,
    /// `assigned`, `blocked`, `stopped` (for another job) or `makes_room` (others were asked to stop for it).
    pub outcome: String,
    pub cause: String,
    pub sentence: String,
    /// Of a placement; empty otherwise.
    pub cluster: String,
    pub choice: Choice,
    pub blockers: Vec<Blocker>,
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

/// Writes why jobs wait, for those about which people see something new. Call it in the transaction that writes the same
/// to the jobs. No job may come twice.
pub async fn note_blocked(db: &mut PgConnection, blocked: &[&Blocked], by: By) -> Result<()> {
    if blocked.is_empty() {
        return Ok(());
    }
    let jobs: Vec<Uuid> = blocked.iter().map(|one| one.job.0).collect();
    let done = sqlx::query(
        "with said as (
             select * from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::integer[])
                 as s (job_id, cause, sentence, blockers, queue_position)
         ), newest as (
             select s.job_id, d.number, d.outcome = 'blocked' and d.cause = s.cause as same
             from said s, lateral (select number, outcome, cause from decision where job_id = s.job_id
                                   order by number desc limit 1) d
         ), told as (
             update decision d set sentence = s.sentence, blockers = s.blockers, queue_position = s.queue_position,
                    term = $6, last_at = $7, times = d.times + 1
             from said s join newest n using (job_id)
             where d.job_id = n.job_id and d.number = n.number and n.same
         )
         insert into decision (job_id, number, outcome, cause, sentence, blockers, queue_position, term, first_at, last_at)
         select s.job_id, coalesce(n.number, 0) + 1, 'blocked', s.cause, s.sentence, s.blockers, s.queue_position, $6, $7, $7
         from said s left join newest n using (job_id) where n.same is not true",
    )
    .bind(&jobs)
    .bind(blocked.iter().map(|one| cause(&one.blockers)).collect::<Vec<_>>())
    .bind(blocked.iter().map(|one| one.sentence.as_str()).collect::<Vec<_>>())
    .bind(blocked.iter().map(|one| Json(&one.blockers)).collect::<Vec<_>>())
    .bind(blocked.iter().map(|one| i32::try_from(one.position).unwrap_or(i32::MAX)).collect::<Vec<_>>())
    .bind(by.term)
    .bind(at(by.now))
    .execute(&mut *db)
    .await?;
    if done.rows_affected() > 0 {
        forget_old(db, &jobs).await?;
    }
    Ok(())
}

/// The codes with their clusters, by rank: what makes two waits the same.
fn cause(blockers: &[Blocker]) -> String {
    let words = blockers.iter().map(|blocker| format!("{} {}", blocker.code.word(), blocker.cluster));
    words.map(|word| word.trim_end().to_owned()).collect::<Vec<_>>().join("; ")
}

async fn forget_old(db: &mut PgConnection, jobs: &[Uuid]) -> Result<()> {
    sqlx::query(
        "delete from decision d using unnest($1::uuid[]) as j (job_id)
         where d.job_id = j.job_id and d.outcome = 'blocked'
           and d.number <= (select max(number) from decision where job_id = j.job_id) - $2",
    )
    .bind(jobs)
    .bind(KEPT)
    .execute(db)
    .await?;
    Ok(())
}

impl Store {
    /// Decisions of a job, the newest first, from the one before `before` on.
    pub async fn decisions(&self, job: JobId, before: Option<u32>, limit: i64) -> Result<Vec<Decision>> {
        let rows = sqlx::query(
            "select number, attempt, outcome, cause, sentence, cluster, choice, blockers, queue_position, term, first_at,
                    last_at, times
             from decision where job_id = $1 and ($2::integer is null or number < $2) order by number desc limit $3",
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use squadron_core::{
        dispatch::{Cause, Ranked, Term, Usage},
        id::ClusterId,
        resources::Resources,
    };

    use super::*;
    use crate::testing::{
        self,
        fixture::{self, NOW},
    };

    fn waits(job: JobId, code: Cause, cluster: &str, position: u32) -> Blocked {
        let sentence = format!("{cluster} lacks something, place {position}");
        let blocker = Blocker {
            code,
            cluster: cluster.into(),
            sentence: sentence.clone(),
            try_this: String::new(),
            with: Vec::new(),
        };
        Blocked { job, position, queue_length: 9, sentence, blockers: Arc::new(vec![blocker]) }
    }

    fn by(millis: i64) -> By {
        By { term: 7, now: NOW.plus_millis(millis) }
    }

    async fn note(store: &Store, blocked: &[&Blocked], by: By) {
        let mut db = store.pool().acquire().await.unwrap();
        note_blocked(&mut db, blocked, by).await.unwrap();
    }

    #[tokio::test]
    async fn equal_causes_are_one_row_and_another_begins_the_next() {
        let store = testing::store().await;
        let (a, b) = (fixture::queued(&store, "a").await.id, fixture::queued(&store, "b").await.id);
        let full = |job, position| waits(job, Cause::ClusterFull, "east", position);
        note(&store, &[&full(a, 3), &full(b, 4)], by(0)).await;
        note(&store, &[&full(a, 2)], by(1_000)).await;
        note(&store, &[&waits(a, Cause::ClusterFull, "west", 2), &full(b, 2)], by(2_000)).await;
        note(&store, &[&full(a, 1)], by(3_000)).await;
        let rows = store.decisions(a, None, 10).await.unwrap();
        let short: Vec<_> = rows.iter().map(|row| (row.number, row.cause.as_str(), row.times)).collect();
        assert_eq!(
            short,
            [(3, "CLUSTER_FULL east", 1), (2, "CLUSTER_FULL west", 1), (1, "CLUSTER_FULL east", 2)]
        );
        let first = &rows[2];
        assert_eq!((first.first_at, first.last_at), (NOW, NOW.plus_millis(1_000)));
        assert_eq!((first.sentence.as_str(), first.position), ("east lacks something, place 2", Some(2)));
        assert_eq!(store.decisions(b, None, 10).await.unwrap()[0].times, 2);
        let page = store.decisions(a, Some(3), 1).await.unwrap();
        assert_eq!(page.iter().map(|row| row.number).collect::<Vec<_>>(), [2], "the page after the newest");
    }

    #[tokio::test]
    async fn a_placement_keeps_every_term_and_old_waits_are_forgotten() {
        let store = testing::store().await;
        let job = fixture::queued(&store, "a").await.id;
        let term = Term {
            name: "jobs_there".into(),
            value: 2,
            unit: "jobs".into(),
            clause: "it runs 2 jobs".into(),
            decided: true,
        };
        let size = Resources { cpu_milli: 4_000, memory_bytes: 1 << 30, gpus: 0 };
        let best = Ranked { cluster: "east".into(), free: size, total: size, terms: vec![term] };
        let assign = Assign {
            job,
            cluster: ClusterId(Uuid::nil()),
            because: "east has room".into(),
            usage: Usage::new(),
            choice: Choice::new(vec![best], vec![]),
        };
        let mut db = store.pool().acquire().await.unwrap();
        note_assigned(&mut db, &[(&assign, AttemptId { job, number: 1 })], by(0)).await.unwrap();
        for n in 0..KEPT + 20 {
            let cluster = format!("c{}", n % 2);
            note_blocked(&mut db, &[&waits(job, Cause::ClusterFull, &cluster, 1)], by(i64::from(n)))
                .await
                .unwrap();
        }
        let rows = store.decisions(job, None, 500).await.unwrap();
        assert_eq!(rows.len(), usize::try_from(KEPT).unwrap() + 1);
        let placed = rows.last().unwrap();
        assert_eq!((placed.number, placed.attempt, placed.cause.as_str()), (1, Some(1), "jobs_there"));
        assert_eq!((placed.cluster.as_str(), &placed.choice), ("east", &assign.choice));
        assert_eq!((placed.term, rows[0].number), (7, u32::try_from(KEPT).unwrap() + 21));
    }
}
