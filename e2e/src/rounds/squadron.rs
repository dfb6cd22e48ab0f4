//! Our side: two control planes on one database, an agent and a fencer in each cluster.
//!
//! Invariant: [`Broken`] mends what it broke when it goes, however the round ends. What is killed is killed by process, as a
//! power cut would do it.

use std::{collections::BTreeMap, thread, time::Duration};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    draw::Draw,
    fault::{BRIEF, CONTROL, Fault, LOST},
    fleet,
    probe::{Request, call},
    side::{OURS, Side, Trouble, Wanted},
};
use crate::{daemon::signal, job, stage::Stage, testbed};

/// Longer than a control plane keeps a duty without a word, and shorter than any lease.
const TAKE_OVER: Duration = Duration::from_secs(5);

/// The stage, with a second control plane that serves one of the clusters.
pub struct Squadron(pub Stage);

impl Side for Squadron {
    fn name(&self) -> &'static str {
        OURS
    }

    fn stage(&self) -> &Stage {
        &self.0
    }

    fn faults(&self) -> Vec<Fault> {
        LOST.into_iter().chain(BRIEF).chain(CONTROL).collect()
    }

    fn moves_within(&self) -> Duration {
        fleet::PATIENCE
    }

    /// Jobs that are fenced, and one that waits on each cluster. Every other one ends when it is asked to, the rest when it
    /// is killed.
    fn wanted(&self, fenced: u32) -> Vec<Wanted> {
        let waiting = self.0.spec.clusters.iter().map(|cluster| Wanted {
            name: format!("round-wait-{cluster}"),
            is_fenced: false,
            is_obedient: true,
            pinned: Some(cluster.clone()),
        });
        fleet::fenced(fenced).chain(waiting).collect()
    }

    fn known(&self) -> Result<BTreeMap<String, String>> {
        let rows = self.0.sql("select name, id from job where ended_at is null and name like 'round-%'")?;
        let pairs = rows.iter().filter_map(|row| row.split_once('|'));
        Ok(pairs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect())
    }

    fn submit(&self, wanted: &Wanted) -> Result<String> {
        let manifest = fleet::manifest(wanted, &self.0.lives());
        let file = job::write(&wanted.name, &manifest.to_string())?.to_string_lossy().into_owned();
        let policy = if wanted.is_fenced { "fence" } else { "wait" };
        let mut args = vec!["submit", file.as_str(), "--on-lost", policy];
        if let Some(cluster) = &wanted.pinned {
            args.extend(["--cluster", cluster]);
        }
        let reply = self.0.json(&args)?;
        Ok(reply["job"]["id"].as_str().context("the answer to the submission names no job")?.to_owned())
    }

    fn cancel(&self, ids: &[&str]) -> Result<()> {
        self.0.squadron(&[&["cancel", "--yes"], ids].concat())?.ok().map(drop)
    }

    /// A round leaves the jobs running, and the next one goes on with them.
    fn clear(&self) -> Result<()> {
        Ok(())
    }

    fn wait_heard(&self) -> Result<()> {
        self.0.spec.clusters.iter().try_for_each(|cluster| self.0.wait_for_state(cluster, &["active"]))
    }

    fn prepare(&self, fault: Fault, victim: &str) -> Result<()> {
        if fault == Fault::LeaderStopped { self.0.let_lead(victim, TAKE_OVER) } else { Ok(()) }
    }

    fn begin<'a>(&'a self, cluster: &'a str, fault: Fault, draw: &mut Draw) -> Result<Box<dyn Trouble + 'a>> {
        Ok(Box::new(Broken::begin(&self.0, cluster, fault, draw)?))
    }

    fn probe(&self, manifest: Value, cluster: Option<&str>) -> Result<String> {
        let mut body = json!({"manifest": manifest.to_string(), "queue": "default"});
        if let Some(cluster) = cluster {
            body["cluster"] = cluster.into();
        }
        let reply = self.post("/api/v1/jobs", &body)?;
        let id = reply["job"]["id"].as_str().with_context(|| format!("no job in the answer {reply}"))?;
        Ok(id.to_owned())
    }

    fn end_probe(&self, id: &str) -> Result<()> {
        self.post(&format!("/api/v1/jobs/{id}/cancel"), &json!({"reason": "it was measured"})).map(drop)
    }
}

impl Squadron {
    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        call(&Request {
            method: "POST",
            url: &format!("{}{path}", self.0.server()),
            token: &self.0.token()?,
            authority: &self.0.data().join("tls/ca.crt"),
            body: Some(body),
        })
    }
}

/// What is broken.
struct Broken<'a> {
    stage: &'a Stage,
    cluster: &'a str,
    fault: Fault,
    is_cut: bool,
    agent_is_off: bool,
    agent_was_killed: bool,
    /// A process that stands still.
    stopped: Option<u32>,
}

impl<'a> Broken<'a> {
    /// Begins the fault: the cluster is cut at once if it is to be lost, the rest follows in [`Trouble::go_on`].
    fn begin(stage: &'a Stage, cluster: &'a str, fault: Fault, draw: &mut Draw) -> Result<Broken<'a>> {
        let mut broken = Broken {
            stage,
            cluster,
            fault,
            is_cut: false,
            agent_is_off: false,
            agent_was_killed: false,
            stopped: None,
        };
        match fault {
            Fault::Cut | Fault::BriefCut => broken.cut(true)?,
            Fault::BlackHole | Fault::BriefBlackHole => broken.cut(false)?,
            Fault::LeaderStopped => broken.stop_leader()?,
            _ if fault.loses() => broken.cut(draw.coin())?,
            _ => {}
        }
        Ok(broken)
    }

    fn cut(&mut self, refuse: bool) -> Result<()> {
        self.is_cut = true;
        let port = self.stage.control_plane_of(self.cluster).1;
        if refuse { testbed::refuse(self.cluster, port) } else { testbed::cut(self.cluster, port) }
    }

    /// Ends one of the two control planes and starts it again.
    fn restart_control_plane(&self, draw: &mut Draw, kill: bool) -> Result<()> {
        let (stage, first) = (self.stage, draw.coin());
        let one = if first { stage.control_plane() } else { stage.second() };
        let ended = if kill { one.kill() } else { one.stop() };
        ended?;
        if first { stage.start_control_plane() } else { stage.start_second() }
    }

    fn kill_agent_for_good(&mut self) -> Result<()> {
        self.agent_is_off = true;
        self.stage.signal_agent(self.cluster, "KILL")?;
        self.stage.scale_agent(self.cluster, 0)
    }

    /// It stands still like a machine that is suspended: connections stay open and nobody answers.
    fn stop_leader(&mut self) -> Result<()> {
        let Some(pid) = self.stage.control_plane_of(self.cluster).0.pid() else {
            bail!("the control plane of {} does not run", self.cluster)
        };
        self.stopped = Some(pid);
        signal("STOP", pid)
    }

    fn signal_agent(&mut self, name: &str) -> Result<()> {
        self.agent_was_killed = true;
        self.stage.signal_agent(self.cluster, name)
    }
}

impl Trouble for Broken<'_> {
    fn go_on(&mut self, draw: &mut Draw, lease: Duration) -> Result<()> {
        let whole = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let (stage, fault) = (self.stage, self.fault);
        if fault.loses() && ![Fault::AgentDead, Fault::LeaderStopped, Fault::FalseWord].contains(&fault) {
            thread::sleep(draw.millis(500, whole));
        }
        match fault {
            Fault::Cut | Fault::BlackHole | Fault::LeaderStopped => {}
            Fault::BriefCut | Fault::BriefBlackHole => thread::sleep(draw.millis(2_000, whole * 3 / 10)),
            Fault::AgentDead => self.kill_agent_for_good()?,
            Fault::FalseWord => {
                stage.wait_for_state(self.cluster, &["silent"])?;
                let word = ["cluster", "declare-dead", self.cluster, "--reason", "a lie", "--yes"];
                stage.squadron(&word)?.ok()?;
            }
            Fault::AgentKilled | Fault::AgentKill => self.signal_agent("KILL")?,
            Fault::AgentRestart => self.signal_agent("TERM")?,
            Fault::AgentUpgrade => stage.roll_agent(self.cluster)?,
            Fault::ControlPlaneKilled | Fault::ControlPlaneKill => self.restart_control_plane(draw, true)?,
            Fault::ControlPlaneRestart => self.restart_control_plane(draw, false)?,
            Fault::PostgresKilled | Fault::PostgresKill => signal("KILL", stage.postgres_pid()?)?,
            Fault::PostgresRestart => signal("INT", stage.postgres_pid()?)?,
        }
        Ok(())
    }

    fn mend(&mut self) -> Result<()> {
        if let Some(pid) = self.stopped.take() {
            signal("CONT", pid)?;
        }
        if std::mem::take(&mut self.agent_is_off) {
            self.stage.scale_agent(self.cluster, 1)?;
        }
        if std::mem::take(&mut self.is_cut) {
            testbed::heal(self.cluster)?;
        }
        if std::mem::take(&mut self.agent_was_killed) {
            // A pod that is killed again and again is held back by the kubelet for minutes; a new one is not.
            self.stage.wait_for_state(self.cluster, &["active"])?;
            self.stage.replace_agent(self.cluster)?;
        }
        Ok(())
    }
}

impl Drop for Broken<'_> {
    fn drop(&mut self) {
        if let Err(problem) = self.mend() {
            eprintln!("{} could not be mended: {problem:#}", self.cluster);
        }
    }
}
