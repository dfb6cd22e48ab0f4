//! Probes: how long a submission takes to become a RayJob in a cluster that is well, alone and while another is lost.
//!
//! The time reaches from the start of the program that submits to what an API server logged when it had created the object.
//! Invariant: submissions do not wait for each other, so one that hangs hides none of those that hang behind it; one that
//! never got its object counts with the time that was waited for it. A probe costs its cluster next to nothing: its pod names a
//! scheduler that does not exist, so it is never run.

mod call;
mod tail;

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

pub use self::call::{Request, call};
use self::tail::Tail;
use super::side::Side;
use crate::{
    clock,
    job::RAY_IMAGE,
    testbed,
    wait::{self, found_if},
};

/// How long one is waited for after the last was submitted, until it counts as not dispatched.
const PATIENCE: Duration = Duration::from_secs(60);

/// One that has no object yet.
struct Open {
    name: String,
    id: String,
    begun: f64,
    is_named: bool,
}

/// Seconds of those that named the healthy cluster, and of those that any cluster could take.
#[derive(Clone, Default, Debug)]
pub struct Took {
    pub named: Vec<f64>,
    pub any: Vec<f64>,
}

/// Submissions under way.
pub struct Probing<'a> {
    side: &'a dyn Side,
    healthy: &'a str,
    /// Begins every name.
    prefix: String,
    logs: Vec<Tail>,
    open: Vec<Open>,
    sent: usize,
    took: Took,
}

impl<'a> Probing<'a> {
    pub fn begin(side: &'a dyn Side, healthy: &'a str, prefix: String) -> Result<Probing<'a>> {
        let clusters = side.stage().spec.clusters.iter();
        let logs =
            clusters.map(|cluster| Tail::at_end(testbed::audit_log(cluster)?)).collect::<Result<_>>()?;
        Ok(Probing { side, healthy, prefix, logs, open: Vec::new(), sent: 0, took: Took::default() })
    }

    /// Submits one more; each other one names the healthy cluster.
    pub fn send(&mut self) {
        let (number, is_named) = (self.sent, self.sent.is_multiple_of(2));
        self.sent += 1;
        let name = format!("{}-{number:03}", self.prefix);
        let begun = clock::now();
        match self.side.probe(manifest(&name), is_named.then_some(self.healthy)) {
            Ok(id) => self.open.push(Open { name, id, begun, is_named }),
            Err(problem) => eprintln!("{name}: {problem:#}"),
        }
    }

    /// Notes those that have their object by now, and ends them.
    pub fn look(&mut self) -> Result<()> {
        let created: Vec<_> = self.logs.iter_mut().map(Tail::created).collect::<Result<_>>()?;
        for (object, at) in created.into_iter().flatten() {
            let found = self.open.iter().position(|open| object.starts_with(&open.name));
            if let Some(open) = found.map(|index| self.open.swap_remove(index)) {
                self.note(&open, at);
            }
        }
        Ok(())
    }

    fn note(&mut self, open: &Open, at: f64) {
        let took = if open.is_named { &mut self.took.named } else { &mut self.took.any };
        took.push(at - open.begun);
        if let Err(problem) = self.side.end_probe(&open.id) {
            eprintln!("{}: {problem:#}", open.name);
        }
    }

    /// Waits for those that are open; one that gets nothing counts with the time that it was waited for.
    pub fn finish(mut self) -> Took {
        let waited = wait::until("objects of the probes", PATIENCE, || {
            self.look()?;
            Ok(found_if(self.open.is_empty(), format!("{} without one", self.open.len())))
        });
        if let Err(problem) = waited {
            eprintln!("{}: {problem:#}", self.prefix);
        }
        for open in std::mem::take(&mut self.open) {
            self.note(&open, clock::now());
        }
        self.took
    }
}

fn manifest(name: &str) -> Value {
    let container = json!({"name": "ray-head", "image": RAY_IMAGE,
        "resources": {"requests": {"cpu": "10m", "memory": "1Mi"}, "limits": {"memory": "1Mi"}}});
    json!({
        "apiVersion": "ray.io/v1", "kind": "RayJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "entrypoint": "nothing", "submissionMode": "HTTPMode", "shutdownAfterJobFinishes": true,
            "rayClusterSpec": {
                "rayVersion": "2.60.0",
                "headGroupSpec": {
                    "rayStartParams": {"num-cpus": "1"},
                    "template": {"spec": {"schedulerName": "nobody", "containers": [container]}},
                },
            },
        },
    })
}
