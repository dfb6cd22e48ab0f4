//! The line of a queue: its waiting jobs in the order in which the dispatcher looks at them.
//!
//! Owns no order of its own: it is that of [`super::place`]. The jobs of each class are in the order of their age in an index,
//! which is that of their urgency too, and a page merges those of one part after the other. A page begins behind a job's key, as
//! the line stood at the moment of the first page, so jobs that leave the line or join it move nobody from one page to another; a
//! class that begins to borrow meanwhile, or whose jobs are expected to take another time, moves its jobs, which may then be
//! missed or seen twice, and the next look is right again.

use sqlx::{
    Postgres, Row,
    postgres::{PgArguments, PgRow},
    query::Query,
    types::Json,
};
use squadron_core::{
    dispatch::{Blocker, gang_total},
    id::JobId,
    resources::Resources,
    time::Timestamp,
};

use super::{
    heads::CLASSES,
    place::{LineKey, Part, urgency},
};
use crate::{Result, Store, at, at_opt, job::gang, stamp, stamp_opt};

/// A waiting job.
#[derive(Clone, PartialEq, Debug)]
pub struct InLine {
    pub id: JobId,
    pub name: String,
    pub owner: String,
    pub requests: Resources,
    pub submitted_at: Timestamp,
    pub key: LineKey,
    /// Empty until the dispatcher has looked at jobs like it.
    pub blockers: Vec<Blocker>,
    /// Since when it waits for these causes.
    pub since: Option<Timestamp>,
}

/// Jobs whose keys are in `p`, in that order.
macro_rules! shown {
    ($($keys:expr),*) => {
        concat!(
            "select j.id, j.name, j.owner, j.gang, j.submitted_at, j.priority, c.borrows, coalesce(c.size, 0) as size,
                    coalesce(o.blockers, c.blockers, '[]') as blockers,
                    case when o.job_id is not null
                              then (select first_at from decision where job_id = j.id order by number desc limit 1)
                         when c.decided_at is not null
                              then greatest(c.since, j.submitted_at, (select max(coalesce(end_learnt_at, ended_at))
                                                                      from attempt where job_id = j.id)) end as since
             from (",
            $($keys,)*
            ") p join job j on j.id = p.id left join job_class c on c.id = j.class_id left join own_wait o on o.job_id = j.id
             order by p.negated, p.urgency, p.submitted_at, p.id"
        )
    };
}

impl Store {
    /// Waiting jobs of the queue behind `after`, in their order at `now`.
    pub async fn line(
        &self,
        queue: &str,
        after: Option<LineKey>,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<InLine>> {
        let mut found = Vec::new();
        for part in Part::ALL.into_iter().filter(|part| after.is_none_or(|after| after.part <= *part)) {
            let after = after.filter(|after| after.part == part);
            let rest = limit - i64::try_from(found.len()).unwrap_or(limit);
            if rest <= 0 {
                break;
            }
            found.extend(match part {
                Part::Unlooked if !self.any_unlooked(queue).await? => Vec::new(),
                Part::Unlooked => self.unlooked(queue, after, rest).await?,
                _ => self.looked((queue, part), after, rest, now).await?,
            });
        }
        Ok(found)
    }

    /// Of a class, who stands behind `after` is younger than the job of it that would be as urgent.
    async fn looked(
        &self,
        (queue, part): (&str, Part),
        after: Option<LineKey>,
        limit: i64,
        now: Timestamp,
    ) -> Result<Vec<InLine>> {
        let looked = sqlx::query(shown!(
            "select l.id, l.submitted_at, l.urgency, -(k.priority::bigint) as negated
             from job_class k cross join lateral (
                 select id, submitted_at, ",
            urgency!("k.size", "submitted_at", "$3"),
            " as urgency from job
                 where queue = $1 and class_id = k.id and (state = 'queued') is true
                   and submitted_at >= case when -(k.priority::bigint) is distinct from $5 then '-infinity'
                                            when $4::float8 = 0 and k.size = 0 then $6
                                            when $4 = 0 then '-infinity' when k.size = 0 then 'infinity'
                                            else $3 - make_interval(secs => 1 + least(7200 * (k.size / $4 * least(k.size / $4, 8) - 1), 3e9)) end
                   and (-(k.priority::bigint) is distinct from $5 or (",
            urgency!("k.size", "submitted_at", "$3"),
            ", submitted_at, id) > ($4, $6, $7))
                 order by submitted_at, id limit $8) l
             where k.queue = $1 and k.borrows = $2 and k.borrows is not null
               and ($5::bigint is null or -(k.priority::bigint) >= $5)
             order by negated, l.urgency, l.submitted_at, l.id limit $8"
        ))
        .bind(queue)
        .bind(part == Part::Borrowing)
        .bind(at(now))
        .bind(after.map_or(0.0, |after| after.urgency(now).value()));
        self.shown(looked, after, limit).await
    }

    async fn unlooked(&self, queue: &str, after: Option<LineKey>, limit: i64) -> Result<Vec<InLine>> {
        let unlooked = sqlx::query(shown!(
            "select w.id, w.submitted_at, 0::float8 as urgency, -(w.priority::bigint) as negated from job w
             where w.queue = $1 and w.state = 'queued'
               and (-(w.priority::bigint), w.submitted_at, w.id)
                   > (coalesce($2, '-9223372036854775808'::bigint), coalesce($3, '-infinity'),
                      coalesce($4, '00000000-0000-0000-0000-000000000000'))
               and (select k.borrows from job_class k where k.id = w.class_id) is null
             order by -(w.priority::bigint), w.submitted_at, w.id limit $5"
        ))
        .bind(queue);
        self.shown(unlooked, after, limit).await
    }

    /// Whether jobs of the queue wait that the dispatcher has not looked at, found by jumping from class to class in the index.
    /// Of a queue with more classes than are looked at, some always do.
    async fn any_unlooked(&self, queue: &str) -> Result<bool> {
        let query = "
            with recursive found (class_id, n) as (
                (select class_id, 1 from job where queue = $1 and (state = 'queued') is true and class_id is not null
                 order by class_id limit 1)
                union all
                select next.class_id, found.n + 1 from found cross join lateral (
                    select class_id from job where queue = $1 and (state = 'queued') is true and class_id > found.class_id
                    order by class_id limit 1) next
                where found.n <= $2
            )
            select exists (select 1 from job where queue = $1 and (state = 'queued') is true and class_id is null)
                or exists (select 1 from found left join job_class c on c.id = found.class_id
                           where c.borrows is null or found.n > $2)";
        Ok(sqlx::query_scalar(query).bind(queue).bind(CLASSES).fetch_one(self.pool()).await?)
    }

    /// The first jobs of the queue that stand before this key at `now`.
    pub async fn ahead(&self, queue: &str, key: LineKey, limit: i64, now: Timestamp) -> Result<Vec<InLine>> {
        let mut first = self.line(queue, None, limit, now).await?;
        first.retain(|job| job.key.order(now) < key.order(now));
        Ok(first)
    }

    /// The jobs behind `after`, which the query takes last, with its limit.
    async fn shown(
        &self,
        query: Query<'_, Postgres, PgArguments>,
        after: Option<LineKey>,
        limit: i64,
    ) -> Result<Vec<InLine>> {
        let rows = query
            .bind(after.map(|after| after.negated))
            .bind(at_opt(after.map(|after| after.submitted_at)))
            .bind(after.map(|after| after.job.0))
            .bind(limit)
            .fetch_all(self.pool())
            .await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &PgRow) -> Result<InLine> {
    let (id, submitted_at) = (JobId(row.try_get("id")?), stamp(row.try_get("submitted_at")?));
    let part = Part::of(row.try_get("borrows")?);
    Ok(InLine {
        id,
        name: row.try_get("name")?,
        owner: row.try_get("owner")?,
        requests: gang_total(&gang(row)?),
        submitted_at,
        key: LineKey::new(part, row.try_get("priority")?, row.try_get("size")?, submitted_at, id),
        blockers: row.try_get::<Json<Vec<Blocker>>, _>("blockers")?.0,
        since: stamp_opt(row.try_get("since")?),
    })
}
