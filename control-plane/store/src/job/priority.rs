//! How urgent a job is: the class that was named when it was submitted, and what the class was worth then.
//!
//! Invariant: written in the transaction that adds the job and never afterwards, so that a class that changes or goes
//! away moves no job. A job without a class has no name here and the value 0.

use sqlx::PgConnection;
use squadron_core::{id::JobId, quota::PriorityClass};

use crate::{Result, Store};

/// Gives a job of this transaction its class.
pub async fn set(db: &mut PgConnection, job: JobId, class: &PriorityClass) -> Result<()> {
    let of_equals = super::class::with_priority(db, job, class.value).await?;
    sqlx::query("update job set priority_class = $2, priority = $3, class_id = $4 where id = $1")
        .bind(job.0)
        .bind(&class.name)
        .bind(class.value)
        .bind(of_equals)
        .execute(db)
        .await?;
    Ok(())
}

/// All priority classes, the most urgent first.
pub async fn classes(db: &mut PgConnection) -> Result<Vec<PriorityClass>> {
    let query = "select name, value, description from priority_class order by value desc, name";
    sqlx::query(query).fetch_all(db).await?.iter().map(crate::quota::class).collect()
}

impl Store {
    /// All priority classes, the most urgent first.
    pub async fn priority_classes(&self) -> Result<Vec<PriorityClass>> {
        classes(&mut *self.pool().acquire().await?).await
    }
}
