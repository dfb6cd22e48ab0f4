//! A stage: clusters that are up, one control plane, every cluster enrolled with an agent that is heard.
//!
//! Invariant: `Stage::set` may be called at any time and ends in the same state; a control plane or agent that runs
//! an older build is replaced. `Stage::strike` leaves nothing of it behind but the clusters.

mod agent;
mod control_plane;
mod enrol;
mod replica;
mod second;

pub use self::{enrol::NAMESPACE, second::SecondAgent};

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    command::{self, Ran},
    daemon::Daemon,
    program::Program,
    testbed,
};

/// What makes one stage differ from another.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Names its folder.
    pub name: &'static str,
    pub clusters: Vec<String>,
    /// Where people and their programs connect.
    pub port: u16,
    /// Where agents connect.
    pub agent_port: u16,
    /// The clusters are someone else's and up already.
    pub are_up: bool,
    /// More flags for `squadron-control-plane serve`.
    pub flags: Vec<String>,
    /// More flags for `squadron-testbed up`.
    pub up: &'static [&'static str],
    /// More settings of the agent's chart.
    pub chart: &'static [&'static str],
}

impl Spec {
    /// For `make demo`: the documented ports, two clusters.
    pub fn demo() -> Spec {
        Spec::new("demo", &["east", "west"], 8443, &[])
    }

    /// For the end-to-end tests: beside a demo, quick to call a cluster silent and to give it up. `SQUADRON_E2E_CLUSTERS=a,b` takes two
    /// clusters that the testbed knows and that are up, for example contexts of a kubeconfig, instead of making them.
    pub fn tests() -> Spec {
        let flags =
            &["--finished-retention", "20", "--heartbeat", "3", "--lease", "30", "--protected-run", "3"];
        let mut spec = Spec::new("e2e", &["e2e-east", "e2e-west"], 8453, flags);
        if let Ok(named) = std::env::var("SQUADRON_E2E_CLUSTERS") {
            spec.clusters = named.split(',').map(str::to_owned).collect();
            spec.are_up = true;
        }
        spec
    }

    /// For the acceptance run and the benchmarks: one cluster that belongs to them alone.
    pub fn acceptance() -> Spec {
        Spec::new("accept", &["accept"], 8463, &[])
    }

    /// For measuring dispatch: two clusters that log every write and claim a large node; attempts are created and
    /// nothing reconciles them, so that only dispatch is measured.
    pub fn rate() -> Spec {
        let up = &["--node-cpus", "256", "--audit", "--no-ray"];
        Spec { up, chart: &["operate=false"], ..Spec::new("rate", &["rate-a", "rate-b"], 8473, &[]) }
    }

    /// For the failover of many jobs: clusters like those for measuring dispatch, and a lease of 60 s.
    pub fn failover() -> Spec {
        let rate = Spec::rate();
        let new = Spec::new("failover", &["failover-a", "failover-b"], 8493, &["--lease", "60"]);
        Spec { up: rate.up, chart: rate.chart, ..new }
    }

    /// For a team that floods the fleet: clusters like those for measuring dispatch.
    pub fn flood() -> Spec {
        let rate = Spec::rate();
        Spec { up: rate.up, chart: rate.chart, ..Spec::new("flood", &["flood-a", "flood-b"], 8513, &[]) }
    }

    /// For rounds of faults: one of two pairs of clusters that log every write, and a lease of so many seconds with a
    /// heartbeat of 2 s.
    pub fn rounds(pair: u8, lease: u32) -> Spec {
        let (name, clusters, port) = match pair {
            2 => ("rounds-2", ["rounds-c", "rounds-d"], 8503),
            _ => ("rounds", ["rounds-a", "rounds-b"], 8483),
        };
        let flags = ["--heartbeat", "2", "--finished-retention", "5", "--lease", &lease.to_string()];
        Spec { up: &["--audit"], ..Spec::new(name, &clusters, port, &flags) }
    }

    fn new(name: &'static str, clusters: &[&str], port: u16, flags: &[&str]) -> Spec {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let clusters = clusters.iter().map(|&name| name.to_owned()).collect();
        Spec { name, clusters, port, agent_port: port - 1_000, are_up: false, flags, up: &[], chart: &[] }
    }

    /// Where the control plane keeps its data: a path short enough for a unix socket, open to its database user.
    fn folder(&self) -> PathBuf {
        let all = std::env::var_os("SQUADRON_STAGES")
            .map_or_else(|| PathBuf::from("/var/lib/squadron"), PathBuf::from);
        all.join(self.name)
    }
}

/// A stage that was set.
#[derive(Clone, Debug)]
pub struct Stage {
    pub spec: Spec,
}

impl Stage {
    /// Sets the stage; `say` hears one line before each part that takes a while.
    pub fn set(spec: Spec, say: &dyn Fn(&str)) -> Result<Stage> {
        let stage = Stage { spec };
        if !stage.spec.are_up {
            say("clusters");
            testbed::up(&stage.spec.clusters, stage.spec.up)?;
        }
        say("control plane");
        stage.start_control_plane()?;
        if stage.is_stale()? {
            say("control plane, from nothing, because its clusters were made anew");
            stage.strike()?;
            stage.start_control_plane()?;
        }
        for cluster in &stage.spec.clusters {
            say(&format!("agent of {cluster}"));
            stage.ensure_agent(cluster)?;
        }
        Ok(stage)
    }

    /// The stage as an earlier run left it, to be struck.
    pub fn found(spec: Spec) -> Stage {
        Stage { spec }
    }

    /// Stops the control plane and removes its data. The clusters stay.
    pub fn strike(&self) -> Result<()> {
        self.stop_control_plane()?;
        match fs::remove_dir_all(self.spec.folder()) {
            Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => {
                Err(problem).with_context(|| format!("removing {}", self.spec.folder().display()))
            }
            _ => Ok(()),
        }
    }

    pub fn control_plane(&self) -> Daemon {
        Daemon::new(&self.spec.folder(), "control-plane")
    }

    /// Where containers of the stage's clusters may write, if they mount it.
    pub fn lives(&self) -> PathBuf {
        self.spec.folder().join("lives")
    }

    pub fn data(&self) -> PathBuf {
        self.spec.folder().join("data")
    }

    pub fn server(&self) -> String {
        format!("https://localhost:{}", self.spec.port)
    }

    /// The administrator's token, as the first start wrote it.
    pub fn token(&self) -> Result<String> {
        let path = self.data().join("admin.token");
        let token = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(token.trim().to_owned())
    }

    /// A `squadron` command that talks to this stage as its administrator.
    pub fn cli(&self) -> Result<Command> {
        let mut cli = command::new(Program::Cli.path());
        cli.env("SQUADRON_SERVER", self.server())
            .env("SQUADRON_CA", self.data().join("tls/ca.crt"))
            .env("SQUADRON_TOKEN", self.token()?)
            .env("NO_COLOR", "1");
        Ok(cli)
    }

    /// Runs `squadron ARGS`, whatever its end is.
    pub fn squadron(&self, args: &[&str]) -> Result<Ran> {
        command::capture(self.cli()?.args(args))
    }

    /// Runs `squadron ARGS -o json` and reads the answer.
    pub fn json(&self, args: &[&str]) -> Result<Value> {
        let printed = command::output(self.cli()?.args(args).args(["-o", "json"]))?;
        serde_json::from_str(&printed)
            .with_context(|| format!("reading the JSON of `squadron {}`", args.join(" ")))
    }

    /// Runs `kubectl ARGS` as administrator of a cluster.
    pub fn kubectl(&self, cluster: &str, args: &[&str]) -> Result<String> {
        command::output(testbed::tool("kubectl", cluster)?.args(args))
    }
}
