//! The history of a class: for what its jobs waited, and when.
//!
//! Invariant: a row is written in the transaction that writes the same to the class. Consecutive waits for the same causes
//! are one row; at most one row of a class is not over. A class keeps its newest [`KEPT`].

use sqlx::PgConnection;
use squadron_core::time::Timestamp;

use super::{
    class::ClassId,
    said::{self, Said},
};
use crate::{Result, at, decision::By};

/// Rows of one class that are kept.
pub const KEPT: i32 = 100;

/// Writes why these classes wait, about which people see something new.
pub(super) async fn note(db: &mut PgConnection, said: &[Said<'_>], by: By) -> Result<()> {
    said::note(db, said, by, (WRITE, FORGET, KEPT)).await
}

const WRITE: &str = "
    with said as (
        select * from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[])
            as s (class_id, cause, sentence, blockers)
    ), newest as (
        select s.class_id, w.number, w.over_at is null and w.cause = s.cause as same
        from said s, lateral (select number, cause, over_at from class_wait where class_id = s.class_id
                              order by number desc limit 1) w
    ), told as (
        update class_wait w set sentence = s.sentence, blockers = s.blockers, term = $5, last_at = $6,
               times = w.times + 1
        from said s join newest n using (class_id)
        where w.class_id = n.class_id and w.number = n.number and n.same
    ), ended as (
        update class_wait w set over_at = $6 from newest n
        where w.class_id = n.class_id and w.number = n.number and not n.same and w.over_at is null
    )
    insert into class_wait (class_id, number, cause, sentence, blockers, term, first_at, last_at)
    select s.class_id, coalesce(n.number, 0) + 1, s.cause, s.sentence, s.blockers, $5, $6, $6
    from said s left join newest n using (class_id) where n.same is not true";

const FORGET: &str = "
    delete from class_wait w using unnest($1::uuid[]) as c (id)
    where w.class_id = c.id and w.number <= (select max(number) from class_wait where class_id = c.id) - $2";

/// These classes wait for nothing any more.
pub(super) async fn over(db: &mut PgConnection, classes: &[ClassId], now: Timestamp) -> Result<()> {
    if !classes.is_empty() {
        sqlx::query("update class_wait set over_at = $2 where class_id = any ($1) and over_at is null")
            .bind(classes)
            .bind(at(now))
            .execute(db)
            .await?;
    }
    Ok(())
}
