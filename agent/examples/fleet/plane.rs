//! The control plane under measurement: a process of its own with its own Postgres, in a folder that goes afterwards.

use std::{
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};

use super::people::People;

/// How long a first start may take: it makes its certificates and its database.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(200);
/// Ticks of the processes' CPU clock in a second.
const TICKS: f64 = 100.0;

/// Its log, in the folder.
pub const LOG: &str = "plane.log";

pub struct Plane {
    child: Child,
    pub data: PathBuf,
    /// Address of the API.
    pub people: String,
    /// Where agents dial.
    pub agents: SocketAddr,
}

impl Plane {
    /// Starts it and waits until it answers.
    pub async fn start(program: &Path, folder: &Path) -> Result<Plane> {
        let data = folder.join("plane");
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let (people, agents) = (free_port()?, free_port()?);
        let log = std::fs::File::create(folder.join(LOG))?;
        let child = Command::new(program)
            .args(["serve", "--strangers-per-address=4000", "--finished-retention=30", "--data"])
            .arg(&data)
            .args([format!("--listen={people}"), format!("--agent-listen={agents}")])
            .env("SQUADRON_LOG", std::env::var("SQUADRON_LOG").unwrap_or_else(|_| "warn".to_owned()))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let plane = Plane { child, data, people: format!("https://{people}"), agents };
        match tokio::time::timeout(PATIENCE, plane.answer()).await {
            Ok(()) => Ok(plane),
            Err(_late) => {
                let said = std::fs::read_to_string(folder.join(LOG)).unwrap_or_default();
                plane.stop().await;
                bail!("the control plane does not answer; it said:\n{said}")
            }
        }
    }

    async fn answer(&self) {
        loop {
            if let Ok(people) = People::of(&self.data, &self.people)
                && people.get("/api/v1/clusters").await.is_ok()
            {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Bytes of memory that its process holds.
    pub fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kib * 1_024)
    }

    /// Version of its Postgres.
    pub fn postgres(&self) -> String {
        let version = std::fs::read_to_string(self.data.join("postgres/PG_VERSION"));
        version.unwrap_or_default().trim().to_owned()
    }

    /// CPU seconds so far of the control plane, of its Postgres and of this process.
    pub fn cpu(&self) -> [f64; 3] {
        let postgres: f64 = processes()
            .filter(|(_, command)| command.starts_with("postgres"))
            .filter(|(pid, _)| is_below(*pid, self.child.id()))
            .map(|(pid, _)| seconds(pid))
            .sum();
        [seconds(self.child.id()), postgres, seconds(std::process::id())]
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(0));
        if nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).is_err() {
            return;
        }
        for _ in 0..300 {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn free_port() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Processes with the names of their programs.
fn processes() -> impl Iterator<Item = (u32, String)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?)))
}

fn stat(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// Whether `pid` descends from `above`.
fn is_below(mut pid: u32, above: u32) -> bool {
    while pid > 1 {
        let Some(parent) = stat(pid).and_then(|fields| fields.get(1)?.parse().ok()) else { return false };
        if parent == above {
            return true;
        }
        pid = parent;
    }
    false
}

fn seconds(pid: u32) -> f64 {
    let fields = stat(pid).unwrap_or_default();
    let ticks: f64 = fields.iter().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS
}
