//! What can go wrong with the database, sorted by what the caller can do about it.

use sqlx::error::DatabaseError;

/// Result of every call of this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached, or cannot do its work at the moment (its disk is full, a lock is held too long); the
    /// same call may work later.
    #[error("the database cannot be reached or cannot work at the moment")]
    Unavailable(#[source] sqlx::Error),
    /// Another transaction was in the way more often than we try again.
    #[error("the transaction met a conflict too often")]
    Contended(#[source] sqlx::Error),
    /// A unique or foreign key refused the row; the constraint's name says which.
    #[error("the constraint {constraint} refused the row")]
    Constraint {
        constraint: String,
        #[source]
        source: sqlx::Error,
    },
    /// Another process took the duty over; nothing was written.
    #[error("the duty {duty} is another process's now")]
    Fenced { duty: &'static str },
    /// What was judged changed before the judgement was written; nothing was written, so judge again.
    #[error("{what} changed while it was being judged")]
    Changed { what: &'static str },
    /// A row holds something that this version cannot read.
    #[error("a row of {table} cannot be read: {problem}")]
    Corrupt { table: &'static str, problem: String },
    /// The schema could not be brought up to date.
    #[error("the schema could not be brought up to date")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// Anything else that Postgres or the driver refused.
    #[error("the database refused a statement")]
    Database(#[source] sqlx::Error),
}

impl StoreError {
    /// Whether the same transaction, run again from its start, may succeed.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, StoreError::Contended(_))
    }

    /// Whether `constraint` refused the row.
    pub fn violates(&self, name: &str) -> bool {
        matches!(self, StoreError::Constraint { constraint, .. } if constraint == name)
    }

    /// Whether the values themselves are at fault, so that the same statement fails however often it is tried: data that
    /// does not fit its column, a constraint, a row that cannot be read. Everything else is the database's or ours.
    pub fn is_of_the_data(&self) -> bool {
        match self {
            StoreError::Constraint { .. } | StoreError::Corrupt { .. } => true,
            StoreError::Database(sqlx::Error::Database(error)) => {
                error.code().is_some_and(|code| DATA_CLASSES.contains(&code.get(..2).unwrap_or_default()))
            }
            StoreError::Database(error) => matches!(
                error,
                sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }
            ),
            _ => false,
        }
    }

    /// Whether a text of the statement holds a zero byte, which Postgres keeps neither in text (22021) nor in JSON (22P05).
    pub fn is_of_a_zero_byte(&self) -> bool {
        match self {
            StoreError::Database(sqlx::Error::Database(error)) => {
                matches!(error.code().as_deref(), Some("22021" | "22P05"))
            }
            _ => false,
        }
    }

    /// A row that cannot be read; `problem` is a short phrase.
    pub fn corrupt(table: &'static str, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt { table, problem: problem.into() }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> StoreError {
        match &error {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => StoreError::Unavailable(error),
            sqlx::Error::Database(database) => match kind(database.as_ref()) {
                Kind::Unavailable => StoreError::Unavailable(error),
                Kind::Conflict => StoreError::Contended(error),
                Kind::Constraint(constraint) => StoreError::Constraint { constraint, source: error },
                Kind::Other => StoreError::Database(error),
            },
            _ => StoreError::Database(error),
        }
    }
}

/// Classes of SQLSTATE that speak of values: 22 data, 23 constraint, 54 a value greater than the database can hold.
const DATA_CLASSES: [&str; 3] = ["22", "23", "54"];

/// Classes that pass: 08 connection, 53 resources (full disk, memory, connections), 55 object not in its state (lock not
/// available), 57 operator (cancelled, shut down, starting), 58 system (input and output).
const PASSING_CLASSES: [&str; 5] = ["08", "53", "55", "57", "58"];

/// Single codes that pass: the server is read-only (a standby took over), an idle transaction was ended.
const PASSING: [&str; 3] = ["25006", "25P03", "25P04"];

enum Kind {
    Unavailable,
    Conflict,
    Constraint(String),
    Other,
}

/// Sorts by SQLSTATE: 40001 serialisation and 40P01 deadlock are conflicts, then what passes by itself.
fn kind(error: &dyn DatabaseError) -> Kind {
    match error.code().as_deref() {
        Some("40001" | "40P01") => Kind::Conflict,
        Some(code) if PASSING_CLASSES.contains(&code.get(..2).unwrap_or_default()) => Kind::Unavailable,
        Some(code) if PASSING.contains(&code) => Kind::Unavailable,
        Some(code) if code.starts_with("23") => {
            Kind::Constraint(error.constraint().unwrap_or_default().to_owned())
        }
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use sqlx::{AssertSqlSafe, Executor as _};

    use super::*;
    use crate::{Store, testing};

    async fn raised(store: &Store, code: &str) -> StoreError {
        let statement = format!("do $$ begin raise exception 'raised' using errcode = '{code}'; end $$");
        store.pool().execute(AssertSqlSafe(statement)).await.unwrap_err().into()
    }

    #[tokio::test]
    async fn a_database_that_cannot_work_at_the_moment_is_never_the_data_s_fault() {
        let store = testing::store().await;
        // Full disk, memory, connections, lock wait, slow statement, shutdown, input and output, a standby.
        for code in ["53100", "53200", "53300", "55P03", "57014", "57P01", "58030", "58000", "25006"] {
            let error = raised(&store, code).await;
            assert!(matches!(error, StoreError::Unavailable(_)), "{code}: {error:?}");
            assert!(!error.is_of_the_data(), "{code}");
        }
        for code in ["22P05", "22001", "23505", "54000"] {
            assert!(raised(&store, code).await.is_of_the_data(), "{code}");
        }
        for statement in ["select $1::text", "select to_jsonb($1::text)"] {
            let error = sqlx::query(statement).bind("a\0b").execute(store.pool()).await.unwrap_err();
            assert!(StoreError::from(error).is_of_a_zero_byte(), "{statement}");
        }
        assert!(!raised(&store, "22001").await.is_of_a_zero_byte());
        for code in ["42703", "42501", "XX000", "25P02"] {
            let error = raised(&store, code).await;
            assert!(matches!(error, StoreError::Database(_)) && !error.is_of_the_data(), "{code}: {error:?}");
        }
    }
}
