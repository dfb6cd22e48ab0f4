//! Decisions: what the dispatcher decided about each job, and when.
//!
//! Invariant: a row is written in the transaction that makes the decision true, so a placement without its reasons does not
//! exist. A job keeps all its placements and the newest [`KEPT`] other rows of its own: parts of preemptions, and waits for
//! which it heard something else than its class. For what it waited otherwise is the history of its class, as far as that falls
//! into times when the job waited; see [`crate::job::class_wait`].

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Assign, Blocker, Choice},
    id::{AttemptId, ClusterId, JobId},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Store, at, job::verdict::cause, stamp};

/// Rows of one job's own that are kept besides its placements.
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

/// A wait of one job that its class does not share.
#[derive(Clone, Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) job: JobId,
    pub(crate) sentence: String,
    pub(crate) blockers: &'a [Blocker],
}

/// Writes why jobs wait that hear something of their own, for those about which people see something new. Call it in the
/// transaction that writes the same for the jobs. No job may come twice.
pub(crate) async fn note_blocked(db: &mut PgConnection, waits: &[Wait<'_>], by: By) -> Result<()> {
    if waits.is_empty() {
        return Ok(());
    }
    let jobs: Vec<Uuid> = waits.iter().map(|one| one.job.0).collect();
    let done = sqlx::query(
        "with said as (
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
         from said s left join newest n using (job_id) where n.same is not true",
    )
    .bind(&jobs)
    .bind(waits.iter().map(|one| cause(one.blockers)).collect::<Vec<_>>())
    .bind(waits.iter().map(|one| one.sentence.as_str()).collect::<Vec<_>>())
    .bind(waits.iter().map(|one| Json(one.blockers)).collect::<Vec<_>>())
    .bind(by.term)
    .bind(at(by.now))
    .execute(&mut *db)
    .await?;
    if done.rows_affected() > 0 {
        forget_old(db, &jobs).await?;
    }
    Ok(())
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
            "with j as (select class_id, state, submitted_at, ended_at from job where id = $1),
             waited as (
                 select coalesce(lag(coalesce(a.end_learnt_at, a.ended_at)) over (order by a.number), j.submitted_at)
                            as from_at, a.assigned_at as to_at
                 from attempt a, j where a.job_id = $1
                 union all
                 select coalesce((select max(coalesce(end_learnt_at, ended_at)) from attempt where job_id = $1),
                                 j.submitted_at),
                        case when j.state = 'queued' then 'infinity' else coalesce(j.ended_at, 'infinity') end
                 from j where j.state = 'queued' or not exists (select 1 from attempt where job_id = $1)
             ), whole as (
                 select number as place, attempt, outcome, cause, sentence, cluster, choice, blockers, queue_position, term,
                        first_at, last_at, times
                 from decision where job_id = $1
                 union all
                 select 0, null, 'blocked', w.cause, w.sentence, '', '{\"candidates\":[],\"refused\":[],\"left_out\":0}',
                        w.blockers, null, w.term, greatest(w.first_at, p.from_at),
                        greatest(w.first_at, p.from_at, least(w.last_at, p.to_at)), w.times
                 from j join class_wait w on w.class_id = j.class_id
                 join waited p on w.first_at < p.to_at and coalesce(w.over_at, 'infinity') > p.from_at
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use crate::{
        job::{
            class::ClassId,
            class_wait::KEPT,
            own_wait::{self, Own},
            verdict::{self, Verdict},
        },
        testing::{
            self,
            fixture::{self, NOW},
        },
    };
    use squadron_core::{
        dispatch::{Blocked, Cause, Ranked, Term, Usage},
        id::ClusterId,
        resources::Resources,
    };

    fn full(job: JobId, cluster: &str, says: &str) -> Blocked {
        let blocker = Blocker {
            code: Cause::ClusterFull,
            cluster: cluster.into(),
            sentence: says.into(),
            try_this: String::new(),
            with: Vec::new(),
        };
        let (sentence, note) = (String::new(), String::new());
        let blockers = Arc::new(vec![blocker]);
        Blocked { job, position: 1, queue_length: 9, sentence, blockers, borrows: false, note }
    }

    fn by(millis: i64) -> By {
        By { term: 7, now: NOW.plus_millis(millis) }
    }

    async fn note(store: &Store, class: ClassId, told: Option<&Blocked>, millis: i64) {
        let mut db = store.pool().acquire().await.unwrap();
        let verdict = |told| Verdict { class, queue: "research", borrows: false, told: Some(told) };
        let verdicts: Vec<_> = told.map(verdict).into_iter().collect();
        verdict::save(&mut db, &verdicts, by(millis)).await.unwrap();
    }

    async fn class_of(store: &Store, job: JobId) -> ClassId {
        let query = "select class_id from job where id = $1";
        sqlx::query_scalar(query).bind(job.0).fetch_one(store.pool()).await.unwrap()
    }

    async fn at_millis(store: &Store, name: &str, millis: i64) -> JobId {
        let job = crate::job::NewJob { submitted_at: NOW.plus_millis(millis), ..fixture::new_job(name) };
        fixture::insert(store, &job).await;
        job.id
    }

    #[tokio::test]
    async fn jobs_share_what_their_class_waited_for_while_they_waited() {
        let store = testing::store().await;
        let first = fixture::queued(&store, "a").await.id;
        let class = class_of(&store, first).await;
        note(&store, class, Some(&full(first, "east", "three cores lack")), 1_000).await;
        note(&store, class, Some(&full(first, "east", "two cores lack")), 2_000).await;
        note(&store, class, Some(&full(first, "west", "one core lacks")), 3_000).await;
        let later = at_millis(&store, "later", 3_500).await;
        assert_eq!(class_of(&store, later).await, class, "equal jobs");
        let told = async |job| {
            let rows = store.decisions(job, None, 10).await.unwrap();
            rows.iter()
                .map(|row| (row.number, row.cause.clone(), row.first_at.millis_since(NOW), row.times))
                .collect::<Vec<_>>()
        };
        let (east, west) = ("CLUSTER_FULL east".to_owned(), "CLUSTER_FULL west".to_owned());
        assert_eq!(told(first).await, [(2, west.clone(), 3_000, 1), (1, east, 1_000, 2)]);
        assert_eq!(told(later).await, [(1, west.clone(), 3_500, 1)], "from its submission on");
        let page = store.decisions(first, Some(2), 1).await.unwrap();
        assert_eq!((page[0].number, page[0].sentence.as_str()), (1, "queued in research: two cores lack"));
        note(&store, class, None, 4_000).await;
        let after = at_millis(&store, "after", 5_000).await;
        assert_eq!(told(after).await, [], "what was over before is not its history");
        note(&store, class, Some(&full(first, "west", "one core lacks")), 6_000).await;
        assert_eq!(told(first).await.len(), 3, "the same causes again, after a time without any");
        assert_eq!(told(after).await, [(1, west, 6_000, 1)]);
    }

    #[tokio::test]
    async fn what_one_job_hears_alone_stands_in_its_own_history() {
        let store = testing::store().await;
        let (a, b) = (fixture::queued(&store, "a").await.id, fixture::queued(&store, "b").await.id);
        let class = class_of(&store, a).await;
        note(&store, class, Some(&full(a, "east", "three cores lack")), 1_000).await;
        let hears = |says: &str, note: &str| Blocked { note: note.into(), ..full(a, "west", says) };
        let mut db = store.pool().acquire().await.unwrap();
        for (millis, says, expected) in [(2_000, "stops", 1), (2_500, "stops", 0), (3_000, "stops soon", 1)] {
            let told = hears(says, "; kept for it");
            let own = [Own { queue: "research", told: &told }];
            assert_eq!(
                own_wait::save(&mut db, &own, by(millis)).await.unwrap().len(),
                expected,
                "at {millis}"
            );
        }
        let rows = store.decisions(a, None, 10).await.unwrap();
        let short: Vec<_> = rows.iter().map(|row| (row.number, row.cause.as_str(), row.times)).collect();
        assert_eq!(short, [(2, "CLUSTER_FULL west", 2), (1, "CLUSTER_FULL east", 1)]);
        assert_eq!(rows[0].sentence, "queued in research: stops soon; kept for it");
        assert_eq!(store.job("a").await.unwrap().unwrap().sentence, rows[0].sentence);
        assert_eq!(store.decisions(b, None, 10).await.unwrap().len(), 1);
        assert_eq!(store.job("b").await.unwrap().unwrap().sentence, "queued in research: three cores lack");
        assert_eq!(
            own_wait::save(&mut db, &[], by(4_000)).await.unwrap(),
            [a].into(),
            "it hears what the others hear"
        );
        assert_eq!(store.job("a").await.unwrap().unwrap().sentence, "queued in research: three cores lack");
    }

    #[tokio::test]
    async fn a_placement_keeps_every_term_and_old_waits_are_forgotten() {
        let store = testing::store().await;
        let job = fixture::queued(&store, "a").await.id;
        let class = class_of(&store, job).await;
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
            note(&store, class, Some(&full(job, &format!("c{}", n % 2), "full")), i64::from(n) + 1).await;
        }
        let rows = store.decisions(job, None, 500).await.unwrap();
        assert_eq!(rows.len(), usize::try_from(KEPT).unwrap() + 1);
        let placed = rows.last().unwrap();
        assert_eq!((placed.number, placed.attempt, placed.cause.as_str()), (1, Some(1), "jobs_there"));
        assert_eq!((placed.cluster.as_str(), &placed.choice), ("east", &assign.choice));
        assert_eq!(placed.term, 7);
    }
}
