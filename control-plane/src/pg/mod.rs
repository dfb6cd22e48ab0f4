//! The private Postgres: started with us, adopted when it outlived us, restarted when it dies.
//!
//! Invariant: one server per data folder. The server is its own process group, so a signal to us never reaches it, and
//! after a kill -9 of us the next start adopts it. While it is down the pool answers "unavailable" and reconnects by
//! itself. Repaired by: the keeper, which looks every quarter of a second; a person reads `postgres.log`.

mod keeper;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};
use squadron_store::server::{Server, ServerError};
use tokio_util::sync::CancellationToken;

pub use self::keeper::Keeper;

/// The database inside the private server.
pub const DATABASE: &str = "squadron";
/// How long a start may take; recovery after a kill -9 is part of it.
const START_DEADLINE: Duration = Duration::from_secs(120);
/// Longest path of the socket's folder: the system's limit is 107 bytes with the file's name.
const SOCKET_LIMIT: usize = 85;

/// Why the private Postgres does not serve.
#[derive(Debug, thiserror::Error)]
pub enum PgError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("cannot start Postgres")]
    Spawn(#[source] std::io::Error),
    #[error("Postgres did not answer within {} s; its log is {}", START_DEADLINE.as_secs(), log.display())]
    Silent {
        log: PathBuf,
        #[source]
        source: squadron_store::StoreError,
    },
}

/// Serves `<data>/postgres` until `stop` is cancelled. Returns when it answers.
pub async fn start(data: &Path, stop: CancellationToken) -> Result<Keeper, PgError> {
    let (folder, socket) = (data.join("postgres"), socket_folder(data));
    let server = tokio::task::spawn_blocking(move || Server::prepare(&folder, &socket))
        .await
        .map_err(|error| PgError::Spawn(error.into()))??;
    let log = data.join("postgres.log");
    let keeper = Keeper::start(server, log.clone(), stop).await?;
    tracing::info!(
        data = %keeper.server().data.display(),
        socket = %keeper.server().socket.display(),
        user = keeper.server().user.name,
        "no --database-url was given: running a private Postgres, reachable by unix socket only"
    );
    await_database(keeper.server(), log).await?;
    Ok(keeper)
}

async fn await_database(server: &Server, log: PathBuf) -> Result<(), PgError> {
    let deadline = Instant::now() + START_DEADLINE;
    loop {
        match server.ensure_database(DATABASE).await {
            Ok(()) => return Ok(()),
            Err(source) if Instant::now() > deadline => return Err(PgError::Silent { log, source }),
            Err(_starting) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Beside the data when that is short enough, else a folder in /tmp that is named by the data folder's digest.
fn socket_folder(data: &Path) -> PathBuf {
    let beside = data.join("socket");
    if beside.as_os_str().len() <= SOCKET_LIMIT {
        return beside;
    }
    let digest = Sha256::digest(data.as_os_str().as_encoded_bytes());
    PathBuf::from(format!("/tmp/squadron-{}", hex::encode(digest.get(..8).unwrap_or_default())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_socket_path_fits_whatever_the_data_folder_is_called() {
        assert_eq!(socket_folder(Path::new("/var/lib/squadron")), Path::new("/var/lib/squadron/socket"));
        let long = PathBuf::from(format!("/var/lib/{}", "x".repeat(200)));
        let socket = socket_folder(&long);
        assert!(socket.as_os_str().len() <= SOCKET_LIMIT);
        assert_eq!(socket, socket_folder(&long), "the same after every restart");
    }

    async fn until_other(server: &Server, old: Option<u32>) -> u32 {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            match server.running() {
                Some(pid) if Some(pid) != old && server.ensure_database(DATABASE).await.is_ok() => {
                    return pid;
                }
                _ => assert!(
                    Instant::now() < deadline,
                    "no new server: {}",
                    std::fs::read_to_string(server.data.with_file_name("postgres.log")).unwrap()
                ),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    #[tokio::test]
    async fn it_is_adopted_restarted_and_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let first = start(folder.path(), CancellationToken::new()).await.unwrap();
        let server = first.server().clone();
        let pid = server.running().unwrap();
        first.abandon();
        let stop = CancellationToken::new();
        let second = start(folder.path(), stop.clone()).await.unwrap();
        assert_eq!(server.running(), Some(pid), "the server of the first run goes on");
        let killed = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
        nix::sys::signal::kill(killed, nix::sys::signal::Signal::SIGKILL).unwrap();
        until_other(&server, Some(pid)).await;
        stop.cancel();
        second.stopped().await;
        assert_eq!(server.running(), None);
    }
}
