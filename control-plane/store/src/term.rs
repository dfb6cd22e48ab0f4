//! Terms: who may do a duty now. One holder per duty; a holder that lost it cannot commit.
//!
//! Invariant: every write of a duty runs in a transaction that called [`check`], which locks the term's row; taking the
//! duty over changes that row, so a paused holder's transaction fails and changes nothing.

use sqlx::{PgConnection, Row};
use squadron_core::time::Timestamp;
use uuid::Uuid;

use crate::{Result, Store, StoreError, at};

/// A duty as one process holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    pub duty: &'static str,
    pub holder: Uuid,
    /// Grows with every change of the holder.
    pub number: i64,
}

/// A term that ends later than this after our own would was given out by a clock that ran ahead, in milliseconds. It
/// allows for control planes whose clocks differ, and bounds how long a wrong clock can stop a duty.
const AHEAD_MS: i64 = 30_000;

impl Store {
    /// Takes or keeps the duty until `until`, if nobody else holds it at `now`. Who set the row by a clock that ran ahead
    /// does not hold it.
    pub async fn hold_duty(
        &self,
        duty: &'static str,
        holder: Uuid,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<Term>> {
        let row = sqlx::query(
            "insert into duty_term as t (duty, term, holder, expires_at) values ($1, 1, $2, $4)
             on conflict (duty) do update
             set term = t.term + case when t.holder = $2 then 0 else 1 end, holder = $2, expires_at = $4
             where t.holder = $2 or t.expires_at <= $3 or t.expires_at > $5
             returning term",
        )
        .bind(duty)
        .bind(holder)
        .bind(at(now))
        .bind(at(until))
        .bind(at(until.plus_millis(AHEAD_MS)))
        .fetch_optional(self.pool())
        .await?;
        row.map(|row| Ok(Term { duty, holder, number: row.try_get("term")? })).transpose()
    }
}

/// Fails the transaction unless the term is still the holder's.
pub async fn check(db: &mut PgConnection, term: &Term) -> Result<()> {
    let row = sqlx::query("select 1 from duty_term where duty = $1 and holder = $2 and term = $3 for share")
        .bind(term.duty)
        .bind(term.holder)
        .bind(term.number)
        .fetch_optional(db)
        .await?;
    row.map(|_| ()).ok_or(StoreError::Fenced { duty: term.duty })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    #[tokio::test]
    async fn a_holder_that_lost_its_duty_cannot_commit() {
        let store = testing::store().await;
        let (ours, theirs) = (Uuid::now_v7(), Uuid::now_v7());
        let hold = async |holder, from: i64| {
            let now = NOW.plus_millis(from);
            store.hold_duty("dispatch", holder, now, now.plus_millis(1_000)).await.unwrap()
        };
        let first = hold(ours, 0).await.unwrap();
        assert_eq!(hold(theirs, 500).await, None, "it is held");
        assert_eq!(hold(ours, 900).await.unwrap(), first, "keeping it is no new term");
        let second = hold(theirs, 1_900).await.unwrap();
        assert_eq!(second.number, first.number + 1);
        let mut db = store.pool().acquire().await.unwrap();
        check(&mut db, &second).await.unwrap();
        assert!(matches!(check(&mut db, &first).await, Err(StoreError::Fenced { duty: "dispatch" })));
    }

    #[tokio::test]
    async fn a_clock_that_was_ahead_once_stops_no_duty() {
        let store = testing::store().await;
        let (before, after) = (Uuid::now_v7(), Uuid::now_v7());
        let ahead = NOW.plus_millis(3_600_000);
        store.hold_duty("project", before, ahead, ahead.plus_millis(4_000)).await.unwrap().unwrap();
        let now = NOW.plus_millis(1_000);
        let taken = store.hold_duty("project", after, now, now.plus_millis(4_000)).await.unwrap();
        assert_eq!(taken.map(|term| term.number), Some(2), "the clock was set right, another process starts");
        let skewed = now.plus_millis(-2_000);
        let other = store.hold_duty("project", before, skewed, skewed.plus_millis(4_000)).await.unwrap();
        assert_eq!(other, None, "a small difference of clocks steals nothing");
    }
}
