//! Runs: when containers of a job really ran in a cluster, as its kubelets say.
//!
//! A `kubectl` watches the job's pods into a file from before they change until it is read. Invariant: a container whose
//! start was told and whose end was not counts as running.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
    process::Child,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{command, stage::Stage, testbed};

/// A watch that goes on until it is dropped.
pub struct Witness {
    kubectl: Child,
    path: PathBuf,
}

/// The time in which one container ran, to the second, as RFC 3339; such texts sort as times do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    pub container: String,
    pub job: String,
    pub attempt: String,
    pub from: String,
    /// Empty while it runs.
    pub to: String,
}

impl Stage {
    /// Watches the pods of a job in a cluster from now on.
    pub fn witness(&self, cluster: &str, job: &str) -> Result<Witness> {
        self.watch_pods(cluster, &format!("squadron.dev/job-id={job}"), job)
    }

    /// Watches the pods of all jobs in a cluster from now on.
    pub fn witness_all(&self, cluster: &str) -> Result<Witness> {
        self.watch_pods(cluster, "squadron.dev/job-id", "all")
    }

    fn watch_pods(&self, cluster: &str, selector: &str, name: &str) -> Result<Witness> {
        let folder = std::env::temp_dir().join("squadron-e2e");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("runs-{cluster}-{name}.json"));
        let mut kubectl = testbed::tool("kubectl", cluster)?;
        kubectl.args(["get", "pods", "-A", "-l", selector, "--watch", "--output-watch-events", "-o", "json"]);
        let kubectl = kubectl.stdout(File::create(&path)?).spawn().context("starting kubectl")?;
        Ok(Witness { kubectl, path })
    }
}

impl Witness {
    /// What was seen so far.
    pub fn runs(&self) -> Result<Vec<Run>> {
        let text = fs::read_to_string(&self.path)?;
        let mut runs = BTreeMap::new();
        // The last event may not be written whole yet.
        let events = serde_json::Deserializer::from_str(&text).into_iter::<Value>().map_while(Result::ok);
        for event in events {
            note(&event["object"], &mut runs);
        }
        Ok(runs.into_values().collect())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if self.kubectl.kill().and_then(|()| self.kubectl.wait()).is_err() {
            eprintln!("a kubectl that watched pods could not be ended: {}", command::root().display());
        }
    }
}

fn note(pod: &Value, runs: &mut BTreeMap<(String, String), Run>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let statuses = ["initContainerStatuses", "containerStatuses"];
    for status in statuses.iter().flat_map(|kind| pod["status"][kind].as_array().into_iter().flatten()) {
        let key = (text(&pod["metadata"]["uid"]), text(&status["name"]));
        let started = ["running", "terminated"].map(|state| text(&status["state"][state]["startedAt"]));
        let Some(from) = started.into_iter().find(|from| !from.is_empty()) else { continue };
        let run = runs.entry(key).or_default();
        run.container = format!("{}/{}", text(&pod["metadata"]["name"]), text(&status["name"]));
        run.job = text(&pod["metadata"]["labels"]["squadron.dev/job-id"]);
        run.attempt = text(&pod["metadata"]["labels"]["squadron.dev/attempt"]);
        run.from = from;
        run.to = text(&status["state"]["terminated"]["finishedAt"]);
    }
}

/// When the last of the containers ended; none while one runs, and when there were none.
pub fn last_end(runs: &[Run]) -> Option<&str> {
    let ended = runs.iter().all(|run| !run.to.is_empty());
    runs.iter().map(|run| run.to.as_str()).max().filter(|_| ended)
}

/// When the first of the containers started.
pub fn first_start(runs: &[Run]) -> Option<&str> {
    runs.iter().map(|run| run.from.as_str()).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_without_an_end_counts_as_running() {
        let pod = |state: Value| {
            json!({"metadata": {"uid": "u", "name": "p", "labels": {"squadron.dev/attempt": "1"}},
                "status": {"containerStatuses": [{"name": "ray", "state": state}]}})
        };
        let mut runs = BTreeMap::new();
        note(&pod(json!({"running": {"startedAt": "2026-11-30T02:00:00Z"}})), &mut runs);
        let seen: Vec<Run> = runs.values().cloned().collect();
        assert_eq!((first_start(&seen), last_end(&seen)), (Some("2026-11-30T02:00:00Z"), None));
        let ended = json!({"terminated": {"startedAt": "2026-11-30T02:00:00Z", "finishedAt": "2026-11-30T02:00:09Z"}});
        note(&pod(ended), &mut runs);
        let seen: Vec<Run> = runs.into_values().collect();
        assert_eq!(last_end(&seen), Some("2026-11-30T02:00:09Z"));
    }
}
