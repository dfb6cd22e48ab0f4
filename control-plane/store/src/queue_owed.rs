//! How far queues with a guarantee were below it while they waited.
//!
//! Owns no rule: sums and rates are of [`squadron_core::dispatch::owed`]. Invariant: written by the dispatcher alone, under its
//! term; a row is written only where its rates change, because between that the sums follow from them. Fails by an old row,
//! which counts at its old rates until the next pass.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow};
use squadron_core::dispatch::{owed::Account, preempt::Owed};

use crate::{Result, at, stamp};

type Accounts = BTreeMap<String, Owed>;

/// All that are known.
pub(crate) async fn read(db: &mut PgConnection) -> Result<Accounts> {
    let rows = sqlx::query("select queue, owed, missing, owed_now, missing_now, at from queue_owed");
    rows.fetch_all(db).await?.iter().map(of_row).collect()
}

/// Those of `after` whose rates are not those of `before`.
pub fn changed(before: &Accounts, after: &Accounts) -> Accounts {
    let rates = |owed: &Owed| (owed.account.owed_now, owed.account.missing_now);
    let differs = |queue: &String, owed: &Owed| before.get(queue).map(rates) != Some(rates(owed));
    after
        .iter()
        .filter(|(queue, owed)| differs(queue, owed))
        .map(|(queue, owed)| (queue.clone(), *owed))
        .collect()
}

/// Writes these.
pub async fn write(db: &mut PgConnection, accounts: &Accounts) -> Result<()> {
    let each = |of: fn(Account) -> i64| accounts.values().map(|owed| of(owed.account)).collect::<Vec<_>>();
    sqlx::query(
        "insert into queue_owed (queue, owed, missing, owed_now, missing_now, at)
         select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::timestamptz[])
         on conflict (queue) do update
             set owed = excluded.owed, missing = excluded.missing, owed_now = excluded.owed_now,
                 missing_now = excluded.missing_now, at = excluded.at",
    )
    .bind(accounts.keys().map(String::as_str).collect::<Vec<_>>())
    .bind(each(|account| account.owed))
    .bind(each(|account| account.missing))
    .bind(each(|account| account.owed_now))
    .bind(each(|account| account.missing_now))
    .bind(accounts.values().map(|owed| at(owed.at)).collect::<Vec<_>>())
    .execute(db)
    .await?;
    Ok(())
}

fn of_row(row: &PgRow) -> Result<(String, Owed)> {
    let account = Account {
        owed: row.try_get("owed")?,
        missing: row.try_get("missing")?,
        owed_now: row.try_get("owed_now")?,
        missing_now: row.try_get("missing_now")?,
    };
    Ok((row.try_get("queue")?, Owed { account, at: stamp(row.try_get("at")?) }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{self, fixture::NOW};

    fn owed(used: i64, at_ms: i64) -> Owed {
        let account = Account::default().rated(8_000, used, 8_000).after(at_ms, 8_000);
        Owed { account, at: NOW.plus_millis(at_ms) }
    }

    #[tokio::test]
    async fn what_is_written_is_read_and_only_new_rates_are_written() {
        let store = testing::store().await;
        let mut db = store.pool().acquire().await.unwrap();
        let first: Accounts = [("a".to_owned(), owed(2_000, 5)), ("b".to_owned(), owed(9_000, 5))].into();
        write(&mut db, &changed(&Accounts::new(), &first)).await.unwrap();
        assert_eq!(read(&mut db).await.unwrap(), first);
        let later: Accounts = [("a".to_owned(), owed(2_000, 90)), ("b".to_owned(), owed(3_000, 90))].into();
        let new = changed(&first, &later);
        assert_eq!(new.keys().collect::<Vec<_>>(), ["b"], "the sums of a follow from its rates");
        write(&mut db, &new).await.unwrap();
        let read = read(&mut db).await.unwrap();
        assert_eq!((read["a"], read["b"]), (first["a"], later["b"]));
        assert_eq!(read["a"].account.after(85, 8_000), later["a"].account);
    }
}
