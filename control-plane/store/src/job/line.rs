//! The line of a queue: its waiting jobs in the order in which the dispatcher looks at them.
//!
//! Owns no order of its own: it reads the places that the dispatcher wrote. A job that it has not looked at yet stands at
//! the end. Places move between two pages of a list; the page token names a place, so a job may be missed or seen twice
//! then, and the next look is right again.

use sqlx::{Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{Blocker, gang_total},
    id::JobId,
    resources::Resources,
    time::Timestamp,
};

use crate::{Result, Store, job::gang, stamp};

/// The place of a job that the dispatcher has not looked at yet.
pub const NO_PLACE: i64 = i32::MAX as i64;

/// A waiting job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InLine {
    pub id: JobId,
    pub name: String,
    pub owner: String,
    pub requests: Resources,
    pub submitted_at: Timestamp,
    /// [`NO_PLACE`] until the dispatcher has looked at it.
    pub place: i64,
    pub blockers: Vec<Blocker>,
    /// Since when it waits for these causes.
    pub since: Option<Timestamp>,
}

impl Store {
    /// Waiting jobs of the queue behind `after`, which is a place and the id of the job there.
    pub async fn line(&self, queue: &str, after: Option<(i64, JobId)>, limit: i64) -> Result<Vec<InLine>> {
        let rows = sqlx::query(
            "select j.id, j.name, j.owner, j.gang, j.submitted_at, j.blockers,
                    coalesce(j.queue_position, 2147483647)::bigint as place, d.first_at
             from job j
             left join lateral (select first_at from decision where job_id = j.id order by number desc limit 1) d on true
             where j.queue = $1 and j.state = 'queued'
               and (coalesce(j.queue_position, 2147483647), j.id) > ($2::integer, $3::uuid)
             order by coalesce(j.queue_position, 2147483647), j.id limit $4",
        )
        .bind(queue)
        .bind(after.map_or(0, |(place, _)| i32::try_from(place).unwrap_or(i32::MAX)))
        .bind(after.map_or(uuid::Uuid::nil(), |(_, job)| job.0))
        .bind(limit)
        .fetch_all(self.pool())
        .await?;
        rows.iter().map(read).collect()
    }

    /// How many jobs of the queue stand before this place, and the first of them. A place says how many by itself; behind
    /// all places they are counted.
    pub async fn ahead(&self, queue: &str, place: (i64, JobId), limit: i64) -> Result<(u32, Vec<InLine>)> {
        let count = if place.0 < NO_PLACE { place.0 - 1 } else { self.before_unseen(queue, place.1).await? };
        let mut first = self.line(queue, None, limit).await?;
        first.retain(|job| (job.place, job.id) < place);
        Ok((u32::try_from(count).unwrap_or(u32::MAX), first))
    }

    async fn before_unseen(&self, queue: &str, job: JobId) -> Result<i64> {
        let query = "select count(*) from job where queue = $1 and state = 'queued'
                       and (coalesce(queue_position, 2147483647), id) < (2147483647, $2::uuid)";
        Ok(sqlx::query_scalar(query).bind(queue).bind(job.0).fetch_one(self.pool()).await?)
    }
}

fn read(row: &PgRow) -> Result<InLine> {
    Ok(InLine {
        id: JobId(row.try_get("id")?),
        name: row.try_get("name")?,
        owner: row.try_get("owner")?,
        requests: gang_total(&gang(row)?),
        submitted_at: stamp(row.try_get("submitted_at")?),
        place: row.try_get("place")?,
        blockers: row.try_get::<Json<Vec<Blocker>>, _>("blockers")?.0,
        since: crate::stamp_opt(row.try_get("first_at")?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use squadron_core::dispatch::{Blocked, Cause};

    use super::*;
    use crate::{
        decision,
        job::waiting,
        testing::{
            self,
            fixture::{self, NOW},
        },
    };

    #[tokio::test]
    async fn the_line_is_in_the_order_of_places_and_paged() {
        let store = testing::store().await;
        let mut jobs = Vec::new();
        for (n, place) in [3, 1, 2].into_iter().enumerate() {
            let job = fixture::queued(&store, &format!("j{n}")).await.id;
            let blocker = Blocker {
                code: Cause::ClusterFull,
                cluster: "east".into(),
                sentence: "east is full".into(),
                try_this: String::new(),
                with: Vec::new(),
            };
            let blocked = Blocked {
                job,
                position: place,
                queue_length: 3,
                sentence: "s".into(),
                blockers: Arc::new(vec![blocker]),
            };
            let mut db = store.pool().acquire().await.unwrap();
            waiting::save_blocked(&mut db, &blocked, NOW).await.unwrap();
            decision::note_blocked(&mut db, &[&blocked], decision::By { term: 1, now: NOW }).await.unwrap();
            jobs.push(job);
        }
        let unseen = fixture::queued(&store, "unseen").await.id;
        let order = [jobs[1], jobs[2], jobs[0], unseen];
        let whole = store.line("research", None, 10).await.unwrap();
        assert_eq!(whole.iter().map(|job| job.id).collect::<Vec<_>>(), order);
        assert_eq!((whole[0].since, whole[3].since, whole[3].place), (Some(NOW), None, NO_PLACE));
        assert_eq!(whole[0].blockers[0].sentence, "east is full");
        let mut seen = Vec::new();
        let mut after = None;
        while let Some(job) = store.line("research", after, 1).await.unwrap().pop() {
            after = Some((job.place, job.id));
            seen.push(job.id);
        }
        assert_eq!(seen, order, "page by page");
        let (count, first) = store.ahead("research", (3, jobs[0]), 5).await.unwrap();
        assert_eq!((count, first.iter().map(|job| job.id).collect::<Vec<_>>()), (2, vec![jobs[1], jobs[2]]));
        assert_eq!(store.ahead("research", (1, jobs[1]), 5).await.unwrap().0, 0);
        assert_eq!(store.ahead("research", (NO_PLACE, unseen), 2).await.unwrap().0, 3);
    }
}
