//! Heads: of each class of waiting jobs the oldest ones, which is all that a pass has to look at.
//!
//! Invariant: of a class are read as many as could start or have room made for them in one pass, and whether more wait; jobs
//! with a claim are read wherever they stand. Of a queue with very many classes those at the head of its line are looked at in
//! every pass and the others in turn, in the order of their ids, from the one on where the last pass ended.
//! Fails safe: where more could start than was read, [`squadron_core::dispatch::Plan::cut`] ends the pass, and the next goes on.
//! Jobs of a class that is not there, or cannot be read, are told as lost and get theirs anew.

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

/// Classes of a queue that one pass looks at, all of them as long as there are no more.
pub(crate) const CLASSES: i64 = 1_000;
/// Where a queue has more, so many of these are looked at because it is their turn, and the others for their place in its line.
const IN_TURN: i64 = CLASSES / 2;
/// Jobs at the head of such a line among whose classes the first are found.
const HEAD: i64 = 10_000;
/// Jobs of a queue that one pass reads, about: half of them evenly of all classes, the others of the class whose first job stands
/// first in the line, as many as could start, then of the next.
const READ: u64 = 4_000;
/// Jobs of each class that are read if they could start, at most, before the first in line get more.
const EACH: u64 = 16;

/// What a pass looks at of the jobs that wait.
#[derive(Default)]
pub(super) struct Heads {
    pub(super) jobs: Vec<(Waiting, ClassId)>,
    pub(super) lost: Vec<Lost>,
    pub(super) turns: Vec<Turn>,
}

/// A class of a queue that jobs name and that is not there or cannot be read.
pub type Lost = (String, ClassId);

/// A queue of whose classes one part is looked at after the other, with the last of this part; `None` at the end of a round.
pub type Turn = (String, Option<ClassId>);

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
pub(super) async fn heads(db: &mut PgConnection, fleet: &Input) -> Result<Heads> {
    let claimed = claimed(db, fleet).await?;
    let (named, turns) = named(db, &claimed).await?;
    let (mut classes, lost) = live(db, &named).await?;
    limit(&mut classes, fleet, &claimed);
    Ok(Heads { jobs: oldest(db, &classes, &claimed).await?, lost, turns })
}

/// The oldest jobs of these classes, and those that have a claim.
async fn oldest(
    db: &mut PgConnection,
    classes: &[Live],
    claimed: &[PgRow],
) -> Result<Vec<(Waiting, ClassId)>> {
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
    for row in claimed {
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
    let query = "select id, name, queue, submitted_at, class_id from job
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
        let need = |class: &Live| vacancy.most(&class.shape).max(1).saturating_add(made_room);
        let needs: Vec<u64> = of_queue.iter().map(need).collect();
        for (class, most) in of_queue.iter_mut().zip(shared(&needs)) {
            let most = most.saturating_add(with_claim.get(&class.id).copied().unwrap_or(0));
            class.most = i64::try_from(most).unwrap_or(i64::MAX);
        }
    }
}

/// Classes of a queue by where their first job stands, as far as that is known before the pass.
fn line(class: &Live) -> (&str, Reverse<i32>, Timestamp, ClassId) {
    (&class.queue, Reverse(class.shape.priority), class.submitted_at, class.id)
}

/// What of [`READ`] each class gets of what it needs, the first in line first.
fn shared(needs: &[u64]) -> Vec<u64> {
    let even = (READ / 2 / (needs.len() as u64).max(1)).clamp(1, EACH);
    let least = |need: &u64| (*need).min(even);
    let mut left = READ.saturating_sub(needs.iter().map(least).sum());
    let share = |need: &u64| {
        let more = (need - least(need)).min(left);
        left -= more;
        least(need) + more
    };
    needs.iter().map(share).collect()
}

/// Queues with their classes of jobs that wait, and where the turns of those queues end that have too many.
async fn named(db: &mut PgConnection, claimed: &[PgRow]) -> Result<(BTreeSet<Lost>, Vec<Turn>)> {
    let mut found = by_queue(&jump(db, None, CLASSES + 1).await?)?;
    let most = usize::try_from(CLASSES).unwrap_or(usize::MAX);
    let many: Vec<String> =
        found.iter().filter(|(_, ids)| ids.len() > most).map(|(queue, _)| queue.clone()).collect();
    found.retain(|_, ids| ids.len() <= most);
    let mut named: BTreeSet<Lost> = pairs(found).collect();
    let mut turns = Vec::with_capacity(many.len());
    if !many.is_empty() {
        named.extend(pairs(by_queue(&at_head(db, &many).await?)?));
        let in_turn = by_queue(&jump(db, Some(&many), IN_TURN).await?)?;
        let is_whole = |ids: &Vec<ClassId>| i64::try_from(ids.len()).is_ok_and(|count| count == IN_TURN);
        let last = |queue: &String| in_turn.get(queue).filter(|ids| is_whole(ids))?.last().copied();
        turns.extend(many.iter().map(|queue| (queue.clone(), last(queue))));
        named.extend(pairs(in_turn));
    }
    named.extend(pairs(by_queue(claimed)?));
    Ok((named, turns))
}

fn by_queue(rows: &[PgRow]) -> Result<BTreeMap<String, Vec<ClassId>>> {
    let mut found = BTreeMap::<String, Vec<ClassId>>::new();
    for row in rows {
        found.entry(row.try_get("queue")?).or_default().push(row.try_get("class_id")?);
    }
    Ok(found)
}

fn pairs(of: BTreeMap<String, Vec<ClassId>>) -> impl Iterator<Item = (String, ClassId)> {
    of.into_iter().flat_map(|(queue, ids)| ids.into_iter().map(move |id| (queue.clone(), id)))
}

/// These classes, and those of them that are not there or cannot be read.
async fn live(db: &mut PgConnection, named: &BTreeSet<Lost>) -> Result<(Vec<Live>, Vec<Lost>)> {
    let rows = sqlx::query(
        "select c.id, c.queue, c.shape, first.submitted_at from job_class c cross join lateral (
             select submitted_at from job where queue = c.queue and class_id = c.id and (state = 'queued') is true
             order by submitted_at, id limit 1) first
         where c.id = any ($1)",
    )
    .bind(named.iter().map(|(_, id)| *id).collect::<Vec<_>>())
    .fetch_all(db)
    .await?;
    let mut classes = Vec::with_capacity(rows.len());
    for row in &rows {
        let (id, queue): (ClassId, String) = (row.try_get("id")?, row.try_get("queue")?);
        match row.try_get::<Json<Shape>, _>("shape") {
            Ok(shape) => {
                let submitted_at = stamp(row.try_get("submitted_at")?);
                classes.push(Live { id, queue, shape: shape.0, submitted_at, most: 1 });
            }
            Err(error) => {
                tracing::warn!(class = %id, queue, %error, "a class cannot be read and is made anew");
            }
        }
    }
    let known: BTreeSet<ClassId> = classes.iter().map(|class| class.id).collect();
    let lost = named.iter().filter(|(_, id)| !known.contains(id)).cloned().collect();
    Ok((classes, lost))
}

/// Queues with their classes, found by jumping from one to the next in the index, so many at most: of all queues from the first
/// class on, or of these from the one on where the last turn ended.
async fn jump(db: &mut PgConnection, queues: Option<&[String]>, most: i64) -> Result<Vec<PgRow>> {
    let rows = sqlx::query(
        "select q.name as queue, known.class_id
         from (select name, case when $1::text[] is null then null else looked_after end as after from queue
               where $1 is null or name = any ($1)) q
         cross join lateral (
             with recursive found (class_id, n) as (
                 (select class_id, 1 from job where queue = q.name and (state = 'queued') is true
                  and class_id > coalesce(q.after, '00000000-0000-0000-0000-000000000000') order by class_id limit 1)
                 union all
                 select next.class_id, found.n + 1 from found cross join lateral (
                     select class_id from job where queue = q.name and (state = 'queued') is true and class_id > found.class_id
                     order by class_id limit 1) next
                 where found.n < $2
             )
             select class_id from found) known
         order by q.name, known.class_id",
    )
    .bind(queues)
    .bind(most)
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// The first classes of the jobs at the head of the lines of these queues.
async fn at_head(db: &mut PgConnection, queues: &[String]) -> Result<Vec<PgRow>> {
    let rows = sqlx::query(
        "select q.name as queue, first.class_id from unnest($1::text[]) as q (name) cross join lateral (
             select class_id from (
                 select class_id, row_number() over (order by -(priority::bigint), submitted_at, id) as place
                 from (select class_id, priority, submitted_at, id from job where queue = q.name and state = 'queued'
                       order by -(priority::bigint), submitted_at, id limit $2) head) numbered
             where class_id is not null group by class_id order by min(place) limit $3) first",
    )
    .bind(queues)
    .bind(HEAD)
    .bind(CLASSES - IN_TURN)
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// The next pass goes on behind these. Call it with the verdicts of the pass.
pub async fn turned(db: &mut PgConnection, turns: &[Turn]) -> Result<()> {
    if !turns.is_empty() {
        let query = "
            update queue set looked_after = t.after from unnest($1::text[], $2::uuid[]) as t (name, after)
            where queue.name = t.name and queue.looked_after is distinct from t.after";
        let (queues, after): (Vec<&str>, Vec<Option<ClassId>>) =
            turns.iter().map(|(queue, after)| (queue.as_str(), *after)).unzip();
        sqlx::query(query).bind(queues).bind(after).execute(db).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_line_gets_what_it_needs_and_everyone_something() {
        assert_eq!(shared(&[10, 5_000, 7]), [10, READ - 17, 7]);
        assert_eq!(shared(&[9_000, 9_000, 3]), [READ - EACH - 3, EACH, 3]);
        let many = shared(&[5_000; 1_000]);
        assert_eq!((many[0], many[999], many.iter().sum::<u64>()), (READ / 2 + 2, 2, READ));
        let too_many = shared(&[5; 5_000]);
        assert!(too_many.iter().all(|most| *most == 1), "what everyone gets is not cut");
    }
}
