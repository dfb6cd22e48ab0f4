//! Keeps the private Postgres running and stops it with us.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use squadron_store::server::Server;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::PgError;

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Pause after a start that did not hold; shared memory of a killed server needs a moment to go.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// How long a fast shutdown may take before it becomes an immediate one.
const STOP_DEADLINE: Duration = Duration::from_secs(15);
/// A log beyond this size is set aside at the next start.
const LOG_LIMIT: u64 = 16 * 1024 * 1024;

/// Only what durability and a small footprint need.
const SETTINGS: [&str; 4] =
    ["shared_buffers=128MB", "max_wal_size=512MB", "logging_collector=off", "jit=off"];

/// A running server and the task that looks after it.
pub struct Keeper {
    server: Server,
    task: JoinHandle<()>,
}

impl Keeper {
    /// Adopts the server that runs, or starts one.
    pub(super) async fn start(
        server: Server,
        log: PathBuf,
        stop: CancellationToken,
    ) -> Result<Keeper, PgError> {
        let mut watched = Watched { server: server.clone(), log, child: None };
        match server.running() {
            Some(pid) => tracing::info!(pid, "adopting the private Postgres that an earlier run left"),
            None => watched.launch()?,
        }
        let task = tokio::spawn(watched.watch(stop));
        Ok(Keeper { server, task })
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Leaves the server alone, as a kill -9 of us would.
    #[cfg(test)]
    pub(super) fn abandon(self) {
        self.task.abort();
    }

    /// Returns when the server has stopped; cancel its token before.
    pub async fn stopped(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the keeper of the private Postgres ended badly");
        }
    }
}

struct Watched {
    server: Server,
    log: PathBuf,
    /// Ours to reap; none while the server is adopted.
    child: Option<Child>,
}

impl Watched {
    fn launch(&mut self) -> Result<(), PgError> {
        self.server.clear_lock_files()?;
        let log = open_log(&self.log).map_err(PgError::Spawn)?;
        let errors = log.try_clone().map_err(PgError::Spawn)?;
        let mut command: Command = self.server.command(&SETTINGS);
        command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(errors);
        self.child = Some(command.spawn().map_err(PgError::Spawn)?);
        Ok(())
    }

    async fn watch(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            if !self.lives() {
                tracing::warn!(log = %self.log.display(), "the private Postgres is gone; starting it again");
                if let Err(error) = self.launch() {
                    tracing::error!(%error, "the private Postgres could not be started");
                }
                tokio::time::sleep(RESTART_PAUSE).await;
            }
        }
        self.halt().await;
    }

    /// Whether a server runs; reaps ours when it ended.
    fn lives(&mut self) -> bool {
        if let Some(child) = &mut self.child {
            return match child.try_wait() {
                Ok(None) => true,
                Ok(Some(status)) => {
                    tracing::warn!(%status, "the private Postgres ended");
                    self.child = None;
                    self.server.running().is_some()
                }
                Err(_) => false,
            };
        }
        self.server.running().is_some()
    }

    async fn halt(mut self) {
        let deadline = Instant::now() + STOP_DEADLINE;
        self.signal(Signal::SIGINT);
        while self.lives() {
            if Instant::now() > deadline {
                self.signal(Signal::SIGQUIT);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        tracing::info!("the private Postgres has stopped");
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().map(Child::id).or_else(|| self.server.running());
        let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) else { return };
        if let Err(error) = kill(Pid::from_raw(pid), signal) {
            tracing::warn!(%error, "the private Postgres could not be signalled");
        }
    }
}

fn open_log(path: &Path) -> io::Result<fs::File> {
    if fs::metadata(path).is_ok_and(|data| data.len() > LOG_LIMIT) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}
