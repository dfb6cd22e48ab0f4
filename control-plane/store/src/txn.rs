//! Transactions: begin, run the body, commit; run it again when another transaction was in the way.
//!
//! Invariant: the body's effects are committed once or not at all. The body may run several times, so it must be
//! idempotent outside its connection. A conflict (40001, 40P01) is tried again with a short growing pause.

use std::{future::Future, pin::Pin, time::Duration};

use sqlx::PgConnection;

use crate::{Result, Store};

/// Conflicts after which the caller is told.
const TRIES: u32 = 6;

/// What a transaction's body returns: `Box::pin(async move { … })`.
pub type Body<'c, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'c>>;

impl Store {
    /// Runs `body` in one transaction. `step` names it in the log, for example `"job.submit"`. The body reaches its
    /// data through `input` and borrows nothing else:
    ///
    /// ```ignore
    /// store.txn("job.submit", &job, |db, job| Box::pin(async move { insert(db, job).await })).await
    /// ```
    pub async fn txn<I, T, F>(&self, step: &'static str, input: &I, body: F) -> Result<T>
    where
        I: Sync + ?Sized,
        F: for<'c> Fn(&'c mut PgConnection, &'c I) -> Body<'c, T> + Sync,
    {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.once(input, &body).await {
                Err(error) if error.is_conflict() && tries < TRIES => {
                    tracing::debug!(step, tries, "the transaction met a conflict and runs again");
                    tokio::time::sleep(Duration::from_millis(5 << tries)).await;
                }
                done => return done,
            }
        }
    }

    async fn once<I, T, F>(&self, input: &I, body: &F) -> Result<T>
    where
        I: Sync + ?Sized,
        F: for<'c> Fn(&'c mut PgConnection, &'c I) -> Body<'c, T> + Sync,
    {
        let mut transaction = self.pool().begin().await?;
        let value = body(&mut transaction, input).await?;
        transaction.commit().await?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::testing;

    async fn set(db: &mut PgConnection, name: &str) -> Result<()> {
        sqlx::query("insert into queue (name, created_at) values ($1, now())").bind(name).execute(db).await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_failed_body_leaves_nothing() {
        let store = testing::store().await;
        let name = String::from("half");
        let failed = store
            .txn("test", &name, |db, name| {
                Box::pin(async move {
                    set(db, name).await?;
                    set(db, name).await
                })
            })
            .await;
        assert!(failed.unwrap_err().violates("queue_pkey"));
        let count: i64 = sqlx::query_scalar("select count(*) from queue where name = 'half'")
            .fetch_one(store.pool())
            .await
            .unwrap();
        assert_eq!(count, 0);
    }

    #[tokio::test]
    async fn a_conflict_runs_the_body_again() {
        let store = testing::store().await;
        let runs = AtomicU32::new(0);
        let conflict = "do $$ begin raise exception 'conflict' using errcode = '40001'; end $$";
        store
            .txn("test", &runs, |db, runs| {
                Box::pin(async move {
                    if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                        sqlx::query(conflict).execute(&mut *db).await?;
                    }
                    set(db, "again").await
                })
            })
            .await
            .unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_transaction_may_borrow_and_move_between_threads() {
        let store = testing::store().await;
        let text = String::from("borrowed");
        let input = (text.as_str(), &store);
        let run = store.txn("test", &input, |db, input| Box::pin(set(db, input.0)));
        let boxed: Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> = Box::pin(run);
        boxed.await.unwrap();
    }
}
