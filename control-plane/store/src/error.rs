//! What can go wrong with the database, sorted by what the caller can do about it.

use sqlx::error::DatabaseError;

/// Result of every call of this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached at the moment; the same call may work later.
    #[error("the database cannot be reached")]
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

enum Kind {
    Unavailable,
    Conflict,
    Constraint(String),
    Other,
}

/// Sorts by SQLSTATE: 40001 serialisation, 40P01 deadlock, 57P0x shutdown and start-up, class 08 connection, 53300 full.
fn kind(error: &dyn DatabaseError) -> Kind {
    match error.code().as_deref() {
        Some("40001" | "40P01") => Kind::Conflict,
        Some("57P01" | "57P02" | "57P03" | "53300") => Kind::Unavailable,
        Some(code) if code.starts_with("08") => Kind::Unavailable,
        Some(code) if code.starts_with("23") => {
            Kind::Constraint(error.constraint().unwrap_or_default().to_owned())
        }
        _ => Kind::Other,
    }
}
