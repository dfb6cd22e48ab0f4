//! Terms: who may do a duty now. One holder per duty; a holder that lost it cannot commit.
//!
//! Invariant: every write of a duty runs in a transaction that called [`check`], which locks the term's row and compares the
//! database's history; taking the duty over changes that row and a failover is another history, so neither a paused holder
//! nor one from before a failover can commit. Who may take a duty is decided by [`squadron_core::lease::Race`] without a
//! wall clock; this file reads the row and writes what was decided, if the row is still the one that was judged.

use sqlx::{PgConnection, Row as _};
use squadron_core::lease::Row;
use uuid::Uuid;

use crate::{Result, Store, StoreError};

/// A duty as one process holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    pub duty: &'static str,
    pub holder: Uuid,
    /// Grows with every change of the holder.
    pub number: i64,
}

/// A holder as [`Row`] names it: the random part of its id.
pub fn name(holder: Uuid) -> u64 {
    holder.as_u64_pair().1
}

/// What history the database is of, in SQL: its system identifier and its timeline in one number. A failover moves the timeline; a
/// dump that is read into a new server, and a major upgrade, bring another identifier.
macro_rules! history {
    () => {
        "((select system_identifier from pg_control_system())
          # ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint)"
    };
}
pub(crate) use history;

impl Store {
    /// Keeps a duty that the holder has. None if it has it no more, or the database failed over since.
    pub async fn keep_duty(&self, duty: &'static str, holder: Uuid) -> Result<Option<Term>> {
        let row = sqlx::query(concat!(
            "update duty_term set beat = beat + 1 where duty = $1 and holder = $2 and history = ",
            history!(),
            " returning term"
        ))
        .bind(duty)
        .bind(holder)
        .fetch_optional(self.pool())
        .await?;
        row.map(|row| Ok(Term { duty, holder, number: row.try_get("term")? })).transpose()
    }

    /// The duty's row, empty before its first holder, and the database's history.
    pub async fn duty(&self, duty: &'static str) -> Result<(Row, u64)> {
        let row = sqlx::query(concat!(
            "select ",
            history!(),
            " as now, t.term, t.holder, t.beat, t.history from (select $1::text as duty) d
             left join duty_term t on t.duty = d.duty"
        ))
        .bind(duty)
        .fetch_one(self.pool())
        .await?;
        let number = |name: &str| Ok::<_, sqlx::Error>(row.try_get::<Option<i64>, _>(name)?.unwrap_or(0));
        let found = Row {
            term: u64::try_from(number("term")?).unwrap_or(0),
            beat: u64::try_from(number("beat")?).unwrap_or(0),
            holder: row.try_get::<Option<Uuid>, _>("holder")?.map_or(0, name),
            history: number("history")?.cast_unsigned(),
        };
        Ok((found, number("now")?.cast_unsigned()))
    }

    /// Leaves all duties of a holder: a row of no history may be taken at once.
    pub async fn leave_duties(&self, holder: Uuid) -> Result<()> {
        sqlx::query("update duty_term set history = 0 where holder = $1")
            .bind(holder)
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// Writes `next` for the holder, if the duty's row is still `seen`.
    pub async fn take_duty(
        &self,
        duty: &'static str,
        holder: Uuid,
        seen: &Row,
        next: &Row,
    ) -> Result<Option<Term>> {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let row = sqlx::query(
            "insert into duty_term as t (duty, term, holder, beat, history) values ($1, $3, $2, $4, $5)
             on conflict (duty) do update set term = $3, holder = $2, beat = $4, history = $5
             where t.term = $6 and t.beat = $7 and t.history = $8
             returning term",
        )
        .bind(duty)
        .bind(holder)
        .bind(signed(next.term))
        .bind(signed(next.beat))
        .bind(next.history.cast_signed())
        .bind(signed(seen.term))
        .bind(signed(seen.beat))
        .bind(seen.history.cast_signed())
        .fetch_optional(self.pool())
        .await?;
        row.map(|row| Ok(Term { duty, holder, number: row.try_get("term")? })).transpose()
    }
}

/// Fails the transaction unless the term is still the holder's, in the history of the database in which it was taken.
pub async fn check(db: &mut PgConnection, term: &Term) -> Result<()> {
    let row = sqlx::query(concat!(
        "select 1 from duty_term where duty = $1 and holder = $2 and term = $3 and history = ",
        history!(),
        " for share"
    ))
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
    use squadron_core::lease::{Duty, Race, Tick};

    use super::*;
    use crate::testing::{self, fixture};

    /// One process in the race for the duty.
    struct Process {
        store: Store,
        id: Uuid,
        race: Race,
    }

    impl Process {
        fn new(store: &Store) -> Process {
            Process { store: store.clone(), id: Uuid::now_v7(), race: Race::default() }
        }

        async fn hold(&mut self, now: u64) -> Option<Term> {
            let kept = self.store.keep_duty("dispatch", self.id).await.unwrap();
            let (row, history) = self.store.duty("dispatch").await.unwrap();
            match self.race.look(row, name(self.id), history, 4_000, Tick(now)) {
                Duty::Take(next) => self.store.take_duty("dispatch", self.id, &row, &next).await.unwrap(),
                Duty::Keep(_) | Duty::Wait => kept,
            }
        }
    }

    #[tokio::test]
    async fn a_holder_that_lost_its_duty_cannot_commit() {
        let store = testing::store().await;
        let (mut ours, mut theirs) = (Process::new(&store), Process::new(&store));
        let first = ours.hold(0).await.unwrap();
        assert_eq!(theirs.hold(900_000).await, None, "their clock says nothing about ours");
        assert_eq!(ours.hold(900).await.unwrap(), first, "keeping it is no new term");
        assert_eq!(theirs.hold(904_000).await, None, "it was kept meanwhile");
        let second = theirs.hold(908_000).await.unwrap();
        assert_eq!(second.number, first.number + 1);
        let mut db = store.pool().acquire().await.unwrap();
        check(&mut db, &second).await.unwrap();
        assert!(matches!(check(&mut db, &first).await, Err(StoreError::Fenced { duty: "dispatch" })));
        assert_eq!(ours.hold(910_000).await, None);
    }

    #[tokio::test]
    async fn of_two_that_take_it_at_once_one_has_it() {
        let store = testing::store().await;
        let (one, two) = (Uuid::now_v7(), Uuid::now_v7());
        let (row, history) = store.duty("dispatch").await.unwrap();
        let take = |id| match Race::default().look(row, name(id), history, 4_000, Tick(0)) {
            Duty::Take(next) => next,
            other => panic!("{other:?}"),
        };
        assert!(store.take_duty("dispatch", one, &row, &take(one)).await.unwrap().is_some());
        assert!(store.take_duty("dispatch", two, &row, &take(two)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_duty_that_was_left_is_taken_at_once() {
        let store = testing::store().await;
        let (mut ours, mut theirs) = (Process::new(&store), Process::new(&store));
        let term = ours.hold(0).await.unwrap();
        store.leave_duties(theirs.id).await.unwrap();
        assert_eq!(theirs.hold(0).await, None, "nobody leaves what is another's");
        store.leave_duties(ours.id).await.unwrap();
        assert_eq!(theirs.hold(1).await.unwrap().number, term.number + 1);
    }

    #[tokio::test]
    async fn a_failover_ends_every_term() {
        let store = testing::store().await;
        let mut ours = Process::new(&store);
        let term = ours.hold(0).await.unwrap();
        // Nothing changes the history of a running server, so the row is changed instead.
        fixture::execute(&store, "update duty_term set history = history - $1", 1).await;
        let mut db = store.pool().acquire().await.unwrap();
        assert!(matches!(check(&mut db, &term).await, Err(StoreError::Fenced { .. })));
        let next = ours.hold(10).await.unwrap();
        assert_eq!(next.number, term.number + 1, "and it may be taken at once");
    }
}
