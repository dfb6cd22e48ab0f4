//! A primary and an asynchronous standby, both real, for what a failover forgets; and new servers that a dump is read into.
//!
//! Invariant: what was committed before [`Pair::cut`] is on the standby, and nothing that comes after is.

#![allow(clippy::missing_panics_doc, reason = "a test without its databases cannot go on")]

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::{await_server, folder, keep, launch};
use crate::{Store, server::Server};

const DATABASE: &str = "squadron";
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Pair {
    primary: Server,
    standby: Server,
    keepers: Vec<Child>,
}

impl Pair {
    /// Both servers, with a migrated database.
    pub async fn start() -> Pair {
        let (primary, first) = tokio::task::spawn_blocking(|| launch(&folder())).await.expect("the launcher");
        await_server(&primary).await;
        primary.ensure_database(DATABASE).await.expect("a database");
        Store::new(primary.options(DATABASE)).migrate().await.expect("migrations");
        let from = primary.clone();
        let copy = move || {
            let folder = folder();
            let standby = from.standby(&folder.join("data"), &folder.join("s")).expect("a standby");
            let keeper = keep(&folder, &standby).expect("a shell that keeps the standby");
            (standby, keeper)
        };
        let (standby, second) = tokio::task::spawn_blocking(copy).await.expect("the launcher");
        let pair = Pair { primary, standby, keepers: vec![first, second] };
        wait(&pair.primary, "select count(*) = 1 from pg_stat_replication where state = 'streaming'").await;
        pair
    }

    /// The database of the primary.
    pub fn store(&self) -> Store {
        Store::new(self.primary.options(DATABASE))
    }

    /// A new server into which a dump of the primary is read.
    pub async fn restored(&mut self) -> Store {
        let (server, keeper) = tokio::task::spawn_blocking(|| launch(&folder())).await.expect("the launcher");
        self.keepers.push(keeper);
        await_server(&server).await;
        server.ensure_database(DATABASE).await.expect("a database");
        let mut dump = self.primary.dump(DATABASE).stdout(Stdio::piped()).spawn().expect("pg_dump");
        let statements = dump.stdout.take().expect("a pipe");
        let read = server.read(DATABASE).stdin(statements).output().expect("psql");
        assert!(read.status.success() && dump.wait().expect("pg_dump").success(), "{read:?}");
        Store::new(server.options(DATABASE))
    }

    /// From now on nothing reaches the standby.
    pub async fn cut(&self) {
        // Commits of these tests are asynchronous on the primary as well.
        tell(&self.primary, "checkpoint").await;
        let caught_up = "select bool_and(replay_lsn >= pg_current_wal_flush_lsn()) from pg_stat_replication";
        wait(&self.primary, caught_up).await;
        tell(&self.standby, "alter system set primary_conninfo = ''").await;
        tell(&self.standby, "select pg_reload_conf()").await;
        wait(&self.primary, "select count(*) = 0 from pg_stat_replication").await;
    }

    /// The primary is gone, and the standby takes its place.
    pub async fn fail_over(&self) -> Store {
        let stop = self.primary.control(&["stop", "-m", "immediate"]).output().expect("pg_ctl");
        assert!(stop.status.success(), "{stop:?}");
        tell(&self.standby, "select pg_promote()").await;
        wait(&self.standby, "select not pg_is_in_recovery()").await;
        Store::new(self.standby.options(DATABASE))
    }
}

async fn connect(server: &Server) -> PgConnection {
    PgConnection::connect_with(&server.options("postgres")).await.expect("the test's Postgres")
}

async fn tell(server: &Server, statement: &str) {
    let mut db = connect(server).await;
    sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut db).await.expect("the statement");
}

async fn wait(server: &Server, until: &str) {
    let (deadline, mut db) = (Instant::now() + DEADLINE, connect(server).await);
    loop {
        let query = sqlx::query_scalar::<_, Option<bool>>(AssertSqlSafe(until.to_owned()));
        if query.fetch_one(&mut db).await.expect("the question") == Some(true) {
            return;
        }
        assert!(Instant::now() < deadline, "never true: {until}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
