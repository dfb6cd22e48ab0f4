//! A throw-away real Postgres for tests: one server per test process, one fresh database per test.
//!
//! Invariant: nothing stays behind. The server runs under a shell that holds the read end of our pipe; when the test
//! process ends, however it ends, the pipe closes, and the shell stops the server and removes its folder.

pub mod crowd;
pub mod fixture;
pub mod link;
pub mod pair;

use std::{
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use sqlx::{AssertSqlSafe, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::sync::OnceCell;

use crate::{Store, server::Server};

/// Quick settings; durability is not what these tests look at.
const SETTINGS: [&str; 4] =
    ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200"];
const START_DEADLINE: Duration = Duration::from_secs(60);

/// Serves until its pipe (the shell's standard input) closes, then removes `$0`.
const KEEPER: &str = r#"folder=$0; "$@" </dev/null >"$folder/log" 2>&1 & server=$!
cat >/dev/null; kill -INT $server; wait $server; rm -rf "$folder""#;

struct Throwaway {
    server: Server,
    _keeper: Child,
}

static SERVER: OnceCell<Throwaway> = OnceCell::const_new();
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A store over a fresh, migrated database.
#[allow(clippy::missing_panics_doc, reason = "a test without a database cannot go on")]
pub async fn store() -> Store {
    Store::new(database().await)
}

/// A store over a fresh database without any table.
#[allow(clippy::missing_panics_doc, reason = "a test without a database cannot go on")]
pub async fn empty() -> Store {
    let throwaway = SERVER.get_or_init(start).await;
    let name = format!("empty_{}", DATABASES.fetch_add(1, Ordering::SeqCst));
    create(&throwaway.server, &format!("create database {name}")).await;
    Store::new(throwaway.server.options(&name))
}

/// Address of a fresh, migrated database of its own.
#[allow(clippy::missing_panics_doc, reason = "a test without a database cannot go on")]
pub async fn database_url() -> String {
    let throwaway = SERVER.get_or_init(start).await;
    let name = fresh(throwaway).await;
    let socket = throwaway.server.socket.display().to_string().replace('/', "%2F");
    format!("postgres://postgres@{socket}/{name}")
}

/// How to connect to a fresh, migrated database of its own.
#[allow(clippy::missing_panics_doc, reason = "a test without a database cannot go on")]
pub async fn database() -> PgConnectOptions {
    let throwaway = SERVER.get_or_init(start).await;
    throwaway.server.options(&fresh(throwaway).await)
}

async fn fresh(throwaway: &Throwaway) -> String {
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::SeqCst));
    create(&throwaway.server, &format!("create database {name} template template_squadron")).await;
    name
}

async fn start() -> Throwaway {
    let (server, keeper) = tokio::task::spawn_blocking(|| launch(&folder())).await.expect("the launcher");
    let throwaway = Throwaway { server, _keeper: keeper };
    await_server(&throwaway.server).await;
    let template = Store::new(throwaway.server.options("template_squadron"));
    template.migrate().await.expect("migrations of the template database");
    template.pool().close().await;
    throwaway
}

/// A fresh folder that the server's user can enter.
fn folder() -> PathBuf {
    let folder =
        tempfile::Builder::new().prefix("squadron-pg-").tempdir().expect("a temporary folder").keep();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&folder, open).expect("a folder that the server's user can enter");
    folder
}

fn launch(folder: &Path) -> (Server, Child) {
    let server = Server::prepare(&folder.join("data"), &folder.join("s")).expect("a private Postgres");
    let keeper = keep(folder, &server).expect("a shell that keeps the server");
    (server, keeper)
}

fn keep(folder: &Path, server: &Server) -> io::Result<Child> {
    let serve = server.command(&SETTINGS);
    let mut keeper = Command::new("/bin/sh");
    keeper.arg("-c").arg(KEEPER).arg(folder).arg(drop_privileges(server)).args(privileges(server));
    keeper.arg(serve.get_program()).args(serve.get_args());
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()
}

/// The keeper stays what we are, so that it can remove the folder; only the server gives its rights away.
fn drop_privileges(server: &Server) -> PathBuf {
    PathBuf::from(if server.user.is_other() { "setpriv" } else { "env" })
}

fn privileges(server: &Server) -> Vec<String> {
    if !server.user.is_other() {
        return Vec::new();
    }
    let user = &server.user.name;
    vec![format!("--reuid={user}"), format!("--regid={user}"), "--clear-groups".to_owned()]
}

async fn await_server(server: &Server) {
    let deadline = Instant::now() + START_DEADLINE;
    while let Err(error) = server.ensure_database("template_squadron").await {
        assert!(Instant::now() < deadline, "the test's Postgres did not start: {error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn create(server: &Server, statement: &str) {
    let mut connection =
        PgConnection::connect_with(&server.options("postgres")).await.expect("the test's Postgres");
    sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut connection).await.expect("a new database");
    connection.close().await.expect("a clean end");
}
