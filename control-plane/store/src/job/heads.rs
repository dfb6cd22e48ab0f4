//! Heads: of each class of waiting jobs the oldest ones, which is all that a pass has to look at.
//!
//! Invariant: of a class are read as many as could start or have room made for them in one pass, and whether more wait; jobs
//! with a claim are read wherever they stand. Of a queue with very many classes those at the head of its line are looked at.
//! Fails safe: where more could start than was read, [`squadron_core::dispatch::Plan::cut`] ends the pass, and the next goes on.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{
        Input, Shape, Vacancy, Waiting,
        preempt::{MOST_AT_ONCE, is_possible},
    },
    id::JobId,
    time::Timestamp,
};

use super::class::ClassId;
use crate::{Result, stamp};

/// Classes of a queue that are looked at, all of them as long as there are no more.
pub(crate) const CLASSES: i64 = 1_000;
/// Where a queue has more, those of so many jobs at the head of its line are.
const HEAD: i64 = 10_000;
/// Jobs of a queue that one pass reads, about: those of the class whose first job stands first in the line as many as could
/// start, then those of the next, and of each at least [`LEAST`].
const READ: u64 = 4_000;
const LEAST: u64 = 16;

/// A class with jobs that wait.
struct Live {
    id: ClassId,
    queue: String,
    shape: Shape,
    /// Of its oldest job.
    submitted_at: Timestamp,
    /// Jobs of it that are read, before those that have a claim.
    most: i64,
}

/// Waiting jobs that a pass over this fleet looks at, with the class of each.
pub async fn heads(db: &mut PgConnection, fleet: &Input) -> Result<Vec<(Waiting, ClassId)>> {
    let claimed = claimed(db, fleet).await?;
    let mut classes = live(db, &claimed).await?;
    limit(&mut classes, fleet, &claimed);
    let rows = sqlx::query(
        "select c.place, j.id, j.name, j.submitted_at
         from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality as c (id, queue, most, place)
         cross join lateral (select id, name, submitted_at from job
                             where queue = c.queue and class_id = c.id and (state = 'queued') is true
                             order by submitted_at, id limit c.most + 1) j
         order by c.place, j.submitted_at, j.id",
    )
    .bind(classes.iter().map(|class| class.id).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.queue.as_str()).collect::<Vec<_>>())
    .bind(classes.iter().map(|class| class.most).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    let mut heads = Vec::with_capacity(rows.len());
    for of_class in rows.chunk_by(|a, b| place(a) == place(b)) {
        let Some(class) = place(&of_class[0]).and_then(|place| classes.get(place)) else { continue };
        read(class, of_class, &mut heads)?;
    }
    let known: BTreeSet<JobId> = heads.iter().map(|(job, _)| job.job).collect();
    for row in &claimed {
        let class =
            classes.iter().find(|class| row.try_get::<ClassId, _>("class_id").is_ok_and(|id| id == class.id));
        if let Some(class) = class.filter(|_| row.try_get("id").is_ok_and(|id| !known.contains(&JobId(id)))) {
            heads.push((waiting(class, row)?, class.id));
        }
    }
    Ok(heads)
}

fn place(row: &PgRow) -> Option<usize> {
    usize::try_from(row.try_get::<i64, _>("place").ok()? - 1).ok()
}

/// Adds the jobs of one class, without the last if that only says that more wait.
fn read(class: &Live, rows: &[PgRow], heads: &mut Vec<(Waiting, ClassId)>) -> Result<()> {
    let most = usize::try_from(class.most).unwrap_or(usize::MAX);
    for row in rows.iter().take(most) {
        heads.push((waiting(class, row)?, class.id));
    }
    if let Some((last, _)) = heads.last_mut() {
        last.behind = u32::from(rows.len() > most);
    }
    Ok(())
}

fn waiting(class: &Live, row: &PgRow) -> Result<Waiting> {
    let (id, submitted_at) = (JobId(row.try_get("id")?), stamp(row.try_get("submitted_at")?));
    Ok(class.shape.waiting(id, row.try_get("name")?, class.queue.clone(), submitted_at))
}

/// Jobs for which room is being made.
async fn claimed(db: &mut PgConnection, fleet: &Input) -> Result<Vec<PgRow>> {
    if fleet.claims.is_empty() {
        return Ok(Vec::new());
    }
    let query = "select id, name, submitted_at, class_id from job
                 where id = any ($1) and state = 'queued' and class_id is not null order by submitted_at, id";
    let ids: Vec<_> = fleet.claims.iter().map(|claim| claim.job.0).collect();
    Ok(sqlx::query(query).bind(ids).fetch_all(db).await?)
}

/// Sets how many jobs of each class are read.
fn limit(classes: &mut [Live], fleet: &Input, claimed: &[PgRow]) {
    let vacancy = Vacancy::of(&fleet.clusters);
    let made_room = if is_possible(&fleet.policy) { MOST_AT_ONCE as u64 } else { 0 };
    let mut with_claim = BTreeMap::<ClassId, u64>::new();
    for id in claimed.iter().filter_map(|row| row.try_get("class_id").ok()) {
        *with_claim.entry(id).or_default() += 1;
    }
    classes.sort_by(|a, b| line(a).cmp(&line(b)));
    for of_queue in classes.chunk_by_mut(|a, b| a.queue == b.queue) {
        let needs: Vec<u64> = of_queue.iter().map(|class| vacancy.most(&class.shape).max(1)).collect();
        for (class, most) in of_queue.iter_mut().zip(shared(&needs)) {
            let taken = made_room + with_claim.get(&class.id).copied().unwrap_or(0);
            class.most = i64::try_from(most + taken).unwrap_or(i64::MAX);
        }
    }
}

/// Classes of a queue by where their first job stands, as far as that is known before the pass.
fn line(class: &Live) -> (&str, Reverse<i32>, Timestamp, ClassId) {
    (&class.queue, Reverse(class.shape.priority), class.submitted_at, class.id)
}

/// What of [`READ`] each class gets of what it needs, the first in line first.
fn shared(needs: &[u64]) -> Vec<u64> {
    let least = |need: &u64| (*need).min(LEAST);
    let mut left = READ.saturating_sub(needs.iter().map(least).sum());
    let share = |need: &u64| {
        let more = (need - least(need)).min(left);
        left -= more;
        least(need) + more
    };
    needs.iter().map(share).collect()
}

/// The classes of jobs that wait. Of a queue that has too many, those at the head of its line.
async fn live(db: &mut PgConnection, claimed: &[PgRow]) -> Result<Vec<Live>> {
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
    ids.extend(claimed.iter().filter_map(|row| row.try_get::<ClassId, _>("class_id").ok()));
    let rows = sqlx::query(
        "select c.id, c.queue, c.shape, first.submitted_at from job_class c cross join lateral (
             select submitted_at from job where queue = c.queue and class_id = c.id and (state = 'queued') is true
             order by submitted_at, id limit 1) first
         where c.id = any ($1)",
    )
    .bind(ids)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let shape = row.try_get::<Json<Shape>, _>("shape")?.0;
            let submitted_at = stamp(row.try_get("submitted_at")?);
            Ok(Live { id: row.try_get("id")?, queue: row.try_get("queue")?, shape, submitted_at, most: 1 })
        })
        .collect()
}

/// Queues with their classes, found by jumping from one to the next in the index; one more than is looked at.
async fn jump(db: &mut PgConnection) -> Result<Vec<PgRow>> {
    let rows = sqlx::query(
        "select q.name as queue, known.class_id
         from queue q cross join lateral (
             with recursive found (class_id, n) as (
                 (select class_id, 1 from job where queue = q.name and (state = 'queued') is true and class_id is not null
                  order by class_id limit 1)
                 union all
                 select next.class_id, found.n + 1 from found cross join lateral (
                     select class_id from job where queue = q.name and (state = 'queued') is true and class_id > found.class_id
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_line_gets_what_it_needs_and_everyone_something() {
        assert_eq!(shared(&[10, 5_000, 7]), [10, READ - 17, 7]);
        assert_eq!(shared(&[9_000, 9_000, 3]), [READ - LEAST - 3, LEAST, 3]);
        let many = shared(&[5_000; 1_000]);
        assert!(many.iter().all(|most| *most == LEAST), "what everyone gets is not cut");
    }
}
