//! Failover of many jobs: a cluster that holds all of them is lost, by its lease or by an operator's word, and the RayJobs of
//! the next attempts appear in the other one.
//!
//! Owns the order of a run. Times come from the audit log of the API server and from this machine's clock. Nothing reconciles
//! RayJobs, so no pods are started; the agent of the lost cluster deletes what it holds as always.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Result;
use serde_json::json;
use squadron_e2e::{
    clock,
    stage::{Spec, Stage},
    testbed,
    wait::{self, found_if},
};

use super::rate::{Load, created_since};

const PATIENCE: Duration = Duration::from_secs(900);

/// How much is lost.
#[derive(clap::Args)]
pub struct Failover {
    /// Jobs on the lost cluster.
    #[arg(long, default_value_t = 1000)]
    jobs: u32,
    /// Take the programs as they were built, instead of building them first.
    #[arg(long)]
    pub built: bool,
}

/// Why the jobs may start elsewhere.
#[derive(Clone, Copy)]
enum Proof {
    Lease,
    Word,
}

impl Failover {
    /// Loses the cluster once by its lease and once by a word, and prints a table.
    pub fn run(&self) -> Result<()> {
        let stage = Stage::set(Spec::failover(), &|part| println!("-- {part}"))?;
        let load = Load::new(&stage);
        let mut table = format!(
            "| {} fenced jobs, lease 60 s | first RayJob elsewhere, s | last, s | between, s |\n|---|---|---|---|\n",
            self.jobs
        );
        for (name, proof) in
            [("from the cut, by the lease", Proof::Lease), ("from an operator's word", Proof::Word)]
        {
            let (first, last) = self.lose(&stage, &load, proof)?;
            table.push_str(&format!("| {name} | {first:.1} | {last:.1} | {:.1} |\n", last - first));
            println!("{table}");
        }
        Ok(())
    }

    /// Seconds until the first and until the last of the next attempts' RayJobs.
    fn lose(&self, stage: &Stage, load: &Load<'_>, proof: Proof) -> Result<(f64, f64)> {
        let (lost, other) = (&stage.spec.clusters[0], &stage.spec.clusters[1]);
        let prefix =
            format!("lose-{}-{}", if matches!(proof, Proof::Lease) { "l" } else { "w" }, std::process::id());
        self.fill(stage, load, &prefix)?;
        let log = testbed::audit_log(other)?;
        let from = std::fs::metadata(&log)?.len();
        let cut_at = clock::now();
        testbed::cut(lost, stage.spec.agent_port)?;
        let outcome = self.follow(stage, proof, cut_at, &|| created_since(other, from));
        testbed::heal(lost)?;
        stage.wait_for_state(lost, &["active"])?;
        load.clear(&prefix)?;
        outcome
    }

    /// All jobs on the cluster that will be lost: the other one is silent while they are placed.
    fn fill(&self, stage: &Stage, load: &Load<'_>, prefix: &str) -> Result<()> {
        let (lost, other) = (&stage.spec.clusters[0], &stage.spec.clusters[1]);
        testbed::cut(other, stage.spec.agent_port)?;
        let filled = self.fill_one(stage, load, prefix, lost, other);
        testbed::heal(other)?;
        filled?;
        stage.wait_for_state(other, &["active"])
    }

    fn fill_one(&self, stage: &Stage, load: &Load<'_>, prefix: &str, lost: &str, other: &str) -> Result<()> {
        stage.wait_for_state(other, &["silent"])?;
        let from = std::fs::metadata(testbed::audit_log(lost)?)?.len();
        let body = |manifest: &str| {
            json!({"manifest": manifest, "queue": "default", "on_lost": "fence"}).to_string()
        };
        load.send(prefix, self.jobs, body)?;
        self.wait_created("every job on the cluster to be lost", &|| created_since(lost, from))
    }

    fn follow(
        &self,
        stage: &Stage,
        proof: Proof,
        cut_at: f64,
        created: &dyn Fn() -> Result<BTreeMap<String, f64>>,
    ) -> Result<(f64, f64)> {
        let begun = match proof {
            Proof::Lease => cut_at,
            Proof::Word => {
                let lost = &stage.spec.clusters[0];
                stage.wait_for_state(lost, &["silent"])?;
                let begun = clock::now();
                let word = ["cluster", "declare-dead", lost, "--reason", "it is gone", "--yes"];
                stage.squadron(&word)?.ok()?;
                println!("the word was answered after {:.1} s", clock::now() - begun);
                begun
            }
        };
        self.wait_created("every job on the other cluster", created)?;
        let times = created()?;
        let first = times.values().copied().fold(f64::INFINITY, f64::min);
        let last = times.values().copied().fold(0.0, f64::max);
        Ok((first - begun, last - begun))
    }

    fn wait_created(&self, what: &str, created: &dyn Fn() -> Result<BTreeMap<String, f64>>) -> Result<()> {
        wait::until(what, PATIENCE, || {
            let found = created()?.len();
            Ok(found_if(found >= self.jobs as usize, format!("{found} of {}", self.jobs)))
        })
    }
}
