//! Jobs: rows as people look at them, and how they begin.
//!
//! State changes live in [`advance`], which takes them from the decider and nowhere else; waiting lives in [`waiting`].

pub mod advance;
pub mod class;
#[cfg(test)]
mod class_tests;
#[cfg(test)]
mod class_turn_tests;
pub mod class_wait;
pub mod heads;
mod held;
mod insert;
pub mod line;
pub mod own_wait;
pub mod place;
#[cfg(test)]
mod place_tests;
pub mod priority;
#[cfg(test)]
mod quota_tests;
pub(crate) mod said;
#[cfg(test)]
mod tests;
pub mod verdict;
pub mod waiting;

use std::collections::BTreeMap;

use sqlx::{Postgres, QueryBuilder, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Blocker, GangPart},
    id::{ClusterId, JobId},
    job::JobState,
    lease::{Chosen, Policy, Refusal},
    preference::Preferences,
    quota::PriorityClass,
    time::Timestamp,
};
use uuid::Uuid;

pub use self::insert::{NO_SUCH_QUEUE, insert, insert_all};
use self::place::{LineKey, Part};
use crate::{Result, Store, StoreError, at, stamp, stamp_opt};

/// A job that is about to exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewJob {
    pub id: JobId,
    pub name: String,
    pub namespace: String,
    pub queue: String,
    pub owner: String,
    /// As it was submitted, YAML or JSON.
    pub manifest: String,
    /// The same as JSON.
    pub rayjob: String,
    pub gang: Vec<GangPart>,
    pub pinned: Option<ClusterId>,
    /// What it says about places.
    pub preferences: Preferences,
    /// The class that it names, as it is now; later changes of the class do not move the job.
    pub priority: Option<PriorityClass>,
    /// What happens to it when its cluster is lost, and why.
    pub on_lost: Chosen,
    pub submitted_at: Timestamp,
    /// Until the dispatcher has looked at it.
    pub sentence: String,
}

/// A job with its newest attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct JobRow {
    pub id: JobId,
    pub name: String,
    pub namespace: String,
    pub queue: String,
    pub state: JobState,
    pub reason: String,
    pub sentence: String,
    pub owner: String,
    pub gang: Vec<GangPart>,
    pub submitted_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub version: i64,
    pub attempt: u32,
    /// Name of the newest attempt's cluster.
    pub cluster: Option<String>,
    pub cluster_heard_at: Option<Timestamp>,
    /// What jobs like it wait for; empty until the dispatcher has looked at one.
    pub blockers: Vec<Blocker>,
    /// What is said of this job alone while it waits.
    pub note: String,
    /// Whether it waits behind those that stay within a guarantee; `None` until the dispatcher has looked at one like it.
    pub borrows: Option<bool>,
    /// GPU seconds that it is expected to take; 0 while nothing is known.
    pub size: f64,
    pub decided_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    pub cancelled_by: String,
    pub priority_class: Option<String>,
    pub priority: i32,
    pub on_lost: Chosen,
}

/// Which jobs, newest first.
#[derive(Clone, Default, Debug)]
pub struct Filter {
    /// Words; empty means all.
    pub states: Vec<String>,
    pub queue: Option<String>,
    pub cluster: Option<String>,
    pub owner: Option<String>,
    /// Only those after this one in the list.
    pub after: Option<(Timestamp, Uuid)>,
    pub limit: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select j.id, j.name, j.namespace, j.queue, j.state, j.owner, j.gang, j.submitted_at, j.started_at, j.ended_at,
                    j.version, j.cancel_requested_at, j.cancelled_by, j.on_lost, j.on_lost_because, j.priority_class,
                    j.priority, a.number, c.name as cluster, c.last_heard_at,
                    case when t.decided_at is null then j.reason else t.reason end as reason,
                    case when t.decided_at is null then j.sentence else t.sentence end as sentence,
                    coalesce(t.blockers, '[]') as blockers, coalesce(t.note, '') as note, t.borrows,
                    coalesce(t.size, 0) as size, t.decided_at
             from job j
             left join job_told t on t.job_id = j.id
             left join lateral (select number, cluster_id from attempt where job_id = j.id order by number desc limit 1) a
               on true
             left join cluster c on c.id = a.cluster_id ",
            $rest
        )
    };
}

impl JobRow {
    /// Where it stands in the line of its queue while it waits.
    pub fn key(&self) -> LineKey {
        LineKey::new(Part::of(self.borrows), self.priority, self.size, self.submitted_at, self.id)
    }
}

impl Store {
    /// The job with this id, or the newest with this name.
    pub async fn job(&self, id_or_name: &str) -> Result<Option<JobRow>> {
        let row = match id_or_name.parse::<JobId>() {
            Ok(id) => sqlx::query(select!("where j.id = $1")).bind(id.0).fetch_optional(self.pool()).await?,
            Err(_) => {
                sqlx::query(select!("where j.name = $1 order by j.submitted_at desc, j.id desc limit 1"))
                    .bind(id_or_name)
                    .fetch_optional(self.pool())
                    .await?
            }
        };
        row.as_ref().map(read).transpose()
    }

    /// The newest job with this name of each owner, that of `owner` first if they have one, then the newest first;
    /// of at most `limit` owners.
    pub async fn newest_by_owner(&self, name: &str, owner: &str, limit: i64) -> Result<Vec<JobRow>> {
        let rows = sqlx::query(select!(
            "where j.id in (select distinct on (owner) id from job where name = $1
                            order by owner, submitted_at desc, id desc)
             order by j.owner = $2 desc, j.submitted_at desc, j.id desc limit $3"
        ))
        .bind(name)
        .bind(owner)
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }

    /// Jobs that the filter lets through, newest first. Each state is looked up in the index by itself, so that few jobs of
    /// one state are found as quickly among many of another.
    pub async fn jobs(&self, filter: &Filter) -> Result<Vec<JobRow>> {
        let mut query = QueryBuilder::<Postgres>::new(select!(
            "where j.id in (select id from (select s.id, s.submitted_at from "
        ));
        listed(&mut query, filter);
        query.push(" order by s.submitted_at desc, s.id desc limit ").push_bind(filter.limit);
        query.push(") listed) order by j.submitted_at desc, j.id desc");
        let rows = query.build().fetch_all(self.pool()).await?;
        rows.iter().map(read).collect()
    }

    /// Names of jobs by id.
    pub async fn job_names(&self, ids: &[JobId]) -> Result<BTreeMap<JobId, String>> {
        let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
        let rows = sqlx::query("select id, name from job where id = any ($1)")
            .bind(ids)
            .fetch_all(self.pool())
            .await?;
        rows.iter().map(|row| Ok((JobId(row.try_get("id")?), row.try_get("name")?))).collect()
    }

    /// The manifest as it was submitted.
    pub async fn manifest(&self, job: JobId) -> Result<Option<String>> {
        Ok(sqlx::query_scalar("select manifest from job where id = $1")
            .bind(job.0)
            .fetch_optional(self.pool())
            .await?)
    }
}

/// Jobs as `s`, those of the filter's owner and cluster, of each of its states as many as are asked for.
fn listed(query: &mut QueryBuilder<Postgres>, filter: &Filter) {
    let all = || JobState::ALL.iter().map(|state| state.word().to_owned()).collect();
    // With a queue and no state, all states are looked up: the index begins with both.
    let states = match (filter.states.is_empty(), &filter.queue) {
        (false, _) => Some(filter.states.clone()),
        (true, Some(_)) => Some(all()),
        (true, None) => None,
    };
    match states {
        Some(states) => {
            query.push("unnest(").push_bind(states).push("::text[]) as t (state) cross join lateral (");
            matching(query, filter, " and o.state = t.state");
            query.push(") s");
        }
        None => {
            query.push("(");
            matching(query, filter, "");
            query.push(") s");
        }
    }
}

fn matching(query: &mut QueryBuilder<Postgres>, filter: &Filter, state: &str) {
    query.push("select o.id, o.submitted_at from job o where true").push(state);
    if let Some(queue) = &filter.queue {
        query.push(" and o.queue = ").push_bind(queue.clone());
    }
    if let Some(owner) = &filter.owner {
        query.push(" and o.owner = ").push_bind(owner.clone());
    }
    if let Some(cluster) = &filter.cluster {
        query.push(
            " and (select c.name from attempt a join cluster c on c.id = a.cluster_id where a.job_id = o.id
                   order by a.number desc limit 1) = ",
        );
        query.push_bind(cluster.clone());
    }
    if let Some((submitted_at, id)) = filter.after {
        query
            .push(" and (o.submitted_at, o.id) < (")
            .push_bind(at(submitted_at))
            .push(", ")
            .push_bind(id)
            .push(")");
    }
    query.push(" order by o.submitted_at desc, o.id desc limit ").push_bind(filter.limit);
}

fn read(row: &PgRow) -> Result<JobRow> {
    let (policy, unread) = policy(row.try_get("on_lost")?);
    let small = |name| -> Result<Option<u32>> {
        Ok(row.try_get::<Option<i32>, _>(name)?.and_then(|number| u32::try_from(number).ok()))
    };
    Ok(JobRow {
        id: JobId(row.try_get("id")?),
        name: row.try_get("name")?,
        namespace: row.try_get("namespace")?,
        queue: row.try_get("queue")?,
        state: state(row.try_get("state")?)?,
        reason: row.try_get("reason")?,
        sentence: row.try_get("sentence")?,
        owner: row.try_get("owner")?,
        gang: gang(row)?,
        submitted_at: stamp(row.try_get("submitted_at")?),
        started_at: stamp_opt(row.try_get("started_at")?),
        ended_at: stamp_opt(row.try_get("ended_at")?),
        version: row.try_get("version")?,
        attempt: small("number")?.unwrap_or(0),
        cluster: row.try_get("cluster")?,
        cluster_heard_at: stamp_opt(row.try_get("last_heard_at")?),
        blockers: row.try_get::<Json<Vec<Blocker>>, _>("blockers")?.0,
        note: row.try_get("note")?,
        borrows: row.try_get("borrows")?,
        size: row.try_get("size")?,
        decided_at: stamp_opt(row.try_get("decided_at")?),
        cancel_requested_at: stamp_opt(row.try_get("cancel_requested_at")?),
        cancelled_by: row.try_get("cancelled_by")?,
        priority_class: row.try_get("priority_class")?,
        priority: row.try_get("priority")?,
        on_lost: Chosen { policy, because: unread.map_or_else(|| row.try_get("on_lost_because"), Ok)? },
    })
}

pub(crate) fn state(word: &str) -> Result<JobState> {
    JobState::from_word(word).ok_or_else(|| StoreError::corrupt("job", format!("{word:?} is no state")))
}

/// What a job says of the loss of its cluster. A word that this version cannot read is taken for `wait`, by which nothing is
/// stopped and nothing started twice, and the clause says so: one such row must keep no other from being read.
pub(crate) fn policy(word: &str) -> (Policy, Option<String>) {
    let unread = |refusal: Refusal| {
        let problem = format!("its word cannot be read by this version of the control plane: {refusal}");
        (Policy::Wait, Some(problem))
    };
    word.parse().map_or_else(unread, |policy| (policy, None))
}

pub(crate) fn gang(row: &PgRow) -> Result<Vec<GangPart>> {
    Ok(row.try_get::<Json<Vec<GangPart>>, _>("gang")?.0)
}
