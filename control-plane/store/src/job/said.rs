//! Said: waits about which people see something new, on their way into the histories of classes and of single jobs.
//!
//! Invariant: the history continues its newest row where the causes are the same, and begins another where they are not; nobody
//! may come twice. Fails with the caller's transaction, which then says nothing.

use sqlx::{PgConnection, types::Json};
use squadron_core::dispatch::Blocker;
use uuid::Uuid;

use super::verdict::cause;
use crate::{Result, at, decision::By};

/// What is said of a class or of a job.
#[derive(Clone, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) of: Uuid,
    pub(crate) sentence: String,
    pub(crate) blockers: &'a [Blocker],
}

/// Runs a statement that takes whom these are said of, causes, sentences, blockers, term and moment, and then one that forgets
/// what is older than the newest `kept` rows.
pub(crate) async fn note(
    db: &mut PgConnection,
    said: &[Said<'_>],
    by: By,
    (write, forget, kept): (&'static str, &'static str, i32),
) -> Result<()> {
    if said.is_empty() {
        return Ok(());
    }
    let of: Vec<Uuid> = said.iter().map(|one| one.of).collect();
    sqlx::query(write)
        .bind(&of)
        .bind(said.iter().map(|one| cause(one.blockers)).collect::<Vec<_>>())
        .bind(said.iter().map(|one| one.sentence.as_str()).collect::<Vec<_>>())
        .bind(said.iter().map(|one| Json(one.blockers)).collect::<Vec<_>>())
        .bind(by.term)
        .bind(at(by.now))
        .execute(&mut *db)
        .await?;
    sqlx::query(forget).bind(of).bind(kept).execute(db).await?;
    Ok(())
}
