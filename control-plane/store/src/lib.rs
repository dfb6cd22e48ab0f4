//! Every SQL statement of Squadron, one file per noun.
//!
//! Owns the connection pool, the schema (migrations are embedded) and the retry of transactions. Invariant: nothing
//! outside this crate writes SQL, and every write of more than one row goes through [`Store::txn`], whose body may run
//! again and so must not act on anything but its connection. Fails with [`StoreError`]; a database that cannot be
//! reached is [`StoreError::Unavailable`], which callers answer with "try again", and the pool reconnects by itself.

pub mod accept;
pub mod arrival;
pub mod attempt;
pub mod audit;
pub mod cluster;
mod control_plane;
pub mod cursor;
pub mod decision;
pub mod desired;
pub mod error;
pub mod estimate;
pub mod failover;
pub mod idempotency;
pub mod incident;
pub mod ingest;
pub mod job;
pub mod log;
pub mod loss;
#[cfg(test)]
mod migration_tests;
pub mod node;
pub mod pod;
pub mod preempt;
pub mod price;
#[cfg(test)]
mod projection_tests;
pub mod queue;
pub mod queue_owed;
mod queue_use;
pub mod quota;
#[cfg(test)]
mod quota_tests;
mod quota_use;
pub mod ray_package;
pub mod ray_submission;
mod resources;
pub mod run_time;
pub mod server;
pub mod term;
#[cfg(feature = "testing")]
pub mod testing;
mod time;
pub mod token;
mod txn;
pub mod usage;

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

pub use sqlx::{PgConnection, PgPool};

pub use crate::{
    error::{Result, StoreError},
    time::{at, at_opt, stamp, stamp_opt},
    txn::Body,
};

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// Connections that one control plane holds at most.
const POOL_SIZE: u32 = 12;
/// How long a request waits for a free connection before it is told to come again.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// The database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
}

impl Store {
    /// A store over a lazily connected pool: no connection is made before the first statement.
    pub fn new(options: PgConnectOptions) -> Store {
        let options = options.options([
            ("statement_timeout", "15s"),
            ("lock_timeout", "5s"),
            ("idle_in_transaction_session_timeout", "10s"),
            ("timezone", "UTC"),
            // Statements over long lines look dear enough for it, and most of their time would go into compiling.
            ("jit", "off"),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(POOL_SIZE)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(options);
        Store { pool }
    }

    /// The pool, for single statements of this crate and for closing it.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Brings the schema to the newest version. Replicas that start together are told apart by the primary key of the
    /// migration table: the loser's transaction fails, and its second look finds the work done.
    pub async fn migrate(&self) -> Result<()> {
        let first = self.migrate_once().await;
        match first {
            Ok(()) => Ok(()),
            Err(_) => self.migrate_once().await,
        }
    }

    async fn migrate_once(&self) -> Result<()> {
        self.migrate_to(i64::MAX).await
    }

    /// Runs the migrations up to this number.
    async fn migrate_to(&self, newest: i64) -> Result<()> {
        let mut connection = self.pool.acquire().await?;
        let mut migrator = sqlx::migrate::Migrator { ..sqlx::migrate::Migrator::DEFAULT };
        let wanted = MIGRATIONS.migrations.iter().filter(|migration| migration.version <= newest);
        migrator.migrations = wanted.cloned().collect();
        migrator.set_locking(false);
        Ok(migrator.run(&mut *connection).await?)
    }

    /// Whether the database answers now.
    pub async fn ping(&self) -> Result<()> {
        sqlx::query("select 1").execute(&self.pool).await?;
        Ok(())
    }
}
