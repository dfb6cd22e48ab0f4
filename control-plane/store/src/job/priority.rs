//! Priority classes that a submission may name. What a job took from its class stands in its row.

use sqlx::PgConnection;
use squadron_core::quota::PriorityClass;

use crate::{Result, Store};

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
