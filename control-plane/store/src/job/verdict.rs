//! Verdicts: what classes of waiting jobs wait for, written once for all jobs of a class.
//!
//! Invariant: what is said of a class holds for each of its jobs that waits, also for one that came after it was written, but
//! for jobs that hear something of their own ([`super::own_wait`]). Only classes about which something changed are written, and
//! the others when what is known of them grows old. What is said holds until it is said anew or none of the class waits any more.
//! Repaired by the next pass, which judges all of them anew, or those whose turn it is.

use std::collections::BTreeSet;

use sqlx::{PgConnection, Row, types::Json};
use squadron_core::{
    dispatch::{Blocked, Blocker, waits},
    time::Timestamp,
};

use super::{class::ClassId, class_wait, said::Said};
use crate::{Result, at, decision::By};

/// Age of a decision that is written again although nothing changed, in milliseconds.
pub(super) const REFRESH_MS: i64 = 10_000;

/// What a pass found out about a class of which jobs wait.
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'a> {
    pub class: ClassId,
    pub queue: &'a str,
    /// Whether its jobs stand behind those that stay within a guarantee.
    pub borrows: bool,
    /// Why they wait; `None` if every job that was looked at hears something of its own.
    pub told: Option<&'a Blocked>,
}

impl Verdict<'_> {
    fn blockers(&self) -> &[Blocker] {
        self.told.map_or(&[], |told| told.blockers.as_slice())
    }

    fn sentence(&self) -> String {
        self.told.map_or_else(String::new, |told| waits(self.queue, None, 0, &told.blockers, ""))
    }
}

/// Writes why classes wait; all others of which no job waits wait for nothing any more. Answers those about which people see
/// something new. No class may come twice.
pub async fn save(db: &mut PgConnection, verdicts: &[Verdict<'_>], by: By) -> Result<BTreeSet<ClassId>> {
    clear(db, verdicts, by.now).await?;
    let rows = sqlx::query(
        "with said as (
             select * from unnest($1::uuid[], $2::boolean[], $3::boolean[], $4::text[], $5::text[], $6::text[], $7::jsonb[])
                 as s (id, borrows, told, reason, cause, sentence, blockers)
         ), old as (
             select c.id, (c.decided_at is not null, c.blockers, c.borrows) is distinct from (s.told, s.blockers, s.borrows)
                          as differs,
                    c.decided_at is null or c.cause <> s.cause as others
             from job_class c join said s on s.id = c.id order by c.id for update of c
         )
         update job_class c set borrows = s.borrows, reason = s.reason, cause = s.cause, sentence = s.sentence,
                blockers = s.blockers, since = case when old.others then $8 else c.since end,
                decided_at = case when s.told then $8 end, idle_since = null
         from said s join old on old.id = s.id
         where c.id = s.id and (old.differs or c.decided_at <= $9)
         returning c.id, old.differs",
    )
    .bind(verdicts.iter().map(|one| one.class).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|one| one.borrows).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|one| one.told.is_some()).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|one| reason(one.blockers())).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|one| cause(one.blockers())).collect::<Vec<_>>())
    .bind(verdicts.iter().map(Verdict::sentence).collect::<Vec<_>>())
    .bind(verdicts.iter().map(|one| Json(one.blockers())).collect::<Vec<_>>())
    .bind(at(by.now))
    .bind(at(by.now.plus_millis(-REFRESH_MS)))
    .fetch_all(&mut *db)
    .await?;
    let mut news = BTreeSet::<ClassId>::new();
    for row in &rows {
        news.extend(row.try_get::<bool, _>("differs")?.then_some(row.try_get::<ClassId, _>("id")?));
    }
    let (mut told, mut quiet) = (Vec::new(), Vec::new());
    for one in verdicts.iter().filter(|one| news.contains(&one.class)) {
        match one.told {
            Some(_) => told.push(Said { of: one.class, sentence: one.sentence(), blockers: one.blockers() }),
            None => quiet.push(one.class),
        }
    }
    class_wait::note(db, &told, by).await?;
    class_wait::over(db, &quiet, by.now).await?;
    Ok(news)
}

/// The word of the first blocker.
pub(super) fn reason(blockers: &[Blocker]) -> &'static str {
    blockers.first().map_or("", |first| first.code.word())
}

/// The codes with their clusters, by rank: what makes two waits the same.
pub(crate) fn cause(blockers: &[Blocker]) -> String {
    let words = blockers.iter().map(|blocker| format!("{} {}", blocker.code.word(), blocker.cluster));
    words.map(|word| word.trim_end().to_owned()).collect::<Vec<_>>().join("; ")
}

/// Of these others no job waits.
async fn clear(db: &mut PgConnection, verdicts: &[Verdict<'_>], now: Timestamp) -> Result<()> {
    let gone: Vec<ClassId> = sqlx::query_scalar(
        "update job_class c set borrows = null, decided_at = null, reason = '', cause = '', sentence = '', blockers = '[]',
                since = null, idle_since = $2
         where borrows is not null and not exists (select 1 from unnest($1::uuid[]) as s (id) where s.id = c.id)
           and not exists (select 1 from job j where j.queue = c.queue and j.class_id = c.id and (j.state = 'queued') is true)
         returning id",
    )
    .bind(verdicts.iter().map(|one| one.class).collect::<Vec<_>>())
    .bind(at(now))
    .fetch_all(&mut *db)
    .await?;
    class_wait::over(db, &gone, now).await
}
