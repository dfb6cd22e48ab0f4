//! Waits of their own: what single jobs hear and the rest of their class does not, because room is made or kept for them.
//!
//! Invariant: a row is there as long as the last pass found something of its own to say; each change is written into the job's
//! own history in the same transaction. Repaired by the next pass.

use std::collections::BTreeSet;

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    dispatch::{Blocked, waits},
    id::JobId,
};
use uuid::Uuid;

use super::{
    said::Said,
    verdict::{REFRESH_MS, reason},
};
use crate::{
    Result, at,
    decision::{self, By},
};

/// What one job hears.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    pub queue: &'a str,
    pub told: &'a Blocked,
}

impl Own<'_> {
    fn sentence(&self) -> String {
        waits(self.queue, None, 0, &self.told.blockers, &self.told.note)
    }
}

/// Writes what these jobs hear; no other hears anything of its own any more. Answers the jobs about which people see something
/// new. No job may come twice.
pub async fn save(db: &mut PgConnection, own: &[Own<'_>], by: By) -> Result<BTreeSet<JobId>> {
    let ids: Vec<Uuid> = own.iter().map(|one| one.told.job.0).collect();
    let gone: Vec<Uuid> =
        sqlx::query_scalar("delete from own_wait o
                            where not exists (select 1 from unnest($1::uuid[]) as s (id) where s.id = o.job_id) returning job_id")
            .bind(&ids)
            .fetch_all(&mut *db)
            .await?;
    let mut news: BTreeSet<JobId> = gone.into_iter().map(JobId).collect();
    if own.is_empty() {
        return Ok(news);
    }
    let rows = sqlx::query(
        "with said as (
             select * from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::text[])
                 as s (job_id, reason, sentence, blockers, note)
         ), differing as (
             select s.job_id, (o.blockers, o.note) is distinct from (s.blockers, s.note) as differs
             from said s left join own_wait o using (job_id)
         ), saved as (
             insert into own_wait (job_id, reason, sentence, blockers, note, decided_at) select s.*, $6 from said s
             on conflict (job_id) do update
             set reason = excluded.reason, sentence = excluded.sentence, blockers = excluded.blockers, note = excluded.note,
                 decided_at = $6
             where (own_wait.blockers, own_wait.note) is distinct from (excluded.blockers, excluded.note)
                   or own_wait.decided_at <= $7
         )
         select job_id from differing where differs",
    )
    .bind(&ids)
    .bind(own.iter().map(|one| reason(&one.told.blockers)).collect::<Vec<_>>())
    .bind(own.iter().map(Own::sentence).collect::<Vec<_>>())
    .bind(own.iter().map(|one| Json(one.told.blockers.as_ref())).collect::<Vec<_>>())
    .bind(own.iter().map(|one| one.told.note.as_str()).collect::<Vec<_>>())
    .bind(at(by.now))
    .bind(at(by.now.plus_millis(-REFRESH_MS)))
    .fetch_all(&mut *db)
    .await?;
    let differ = rows.iter().map(|row| Ok(JobId(row.try_get("job_id")?)));
    let differ: BTreeSet<JobId> = differ.collect::<Result<_>>()?;
    let said: Vec<Said<'_>> = own
        .iter()
        .filter(|one| differ.contains(&one.told.job))
        .map(|one| Said { of: one.told.job.0, sentence: one.sentence(), blockers: &one.told.blockers })
        .collect();
    decision::note_blocked(db, &said, by).await?;
    news.extend(differ);
    Ok(news)
}
