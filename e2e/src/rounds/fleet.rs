//! The fleet of a run: jobs that run for ever under each policy, so that a round costs no start of Ray.
//!
//! Invariant: before a round each job has exactly one container that lives; one that has not after a while is cancelled and
//! replaced. A job is known by its name, so a run that is continued finds those of the run before.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    life::{self, Life},
    side::{Side, Wanted},
};
use crate::{
    clock,
    job::RAY_IMAGE,
    stage::Stage,
    wait::{self, Look, found_if},
};

const HEAD: &str = include_str!("head.py");
/// How long a job may take to run, and everything to be as it should.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// One job of the fleet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Member {
    pub id: String,
    pub name: String,
    pub is_fenced: bool,
}

/// The jobs, by name.
#[derive(Clone, Debug, Default)]
pub struct Fleet(pub BTreeMap<String, Member>);

/// Jobs that have to start elsewhere when their cluster is lost. Every other one ends when it is asked to, the rest when it
/// is killed.
pub fn fenced(count: u32) -> impl Iterator<Item = Wanted> {
    (0..count).map(|number| Wanted {
        name: format!("round-fence-{number}"),
        is_fenced: true,
        is_obedient: number % 2 == 1,
        pinned: None,
    })
}

impl Fleet {
    /// Finds the jobs of an earlier run and makes those that are missing, until all of them run.
    pub fn muster(side: &dyn Side, fenced: u32) -> Result<Fleet> {
        open_folder(side.stage())?;
        let mut fleet = Fleet::default();
        let known = side.known()?;
        for wanted in side.wanted(fenced) {
            let id = match known.get(&wanted.name) {
                Some(id) => id.clone(),
                None => side.submit(&wanted)?,
            };
            let member = Member { id, name: wanted.name.clone(), is_fenced: wanted.is_fenced };
            fleet.0.insert(wanted.name, member);
        }
        Ok(fleet)
    }

    /// Waits until every job has exactly one live container.
    pub fn wait_whole(&self, stage: &Stage) -> Result<Vec<Life>> {
        wait::until("every job of the rounds to run once", PATIENCE, || {
            let alive = alive(stage)?;
            let odd = self.odd(&alive);
            let told: Vec<String> =
                odd.iter().map(|(name, count)| format!("{name} has {count} containers")).collect();
            Ok(if odd.is_empty() { Look::Found(alive) } else { Look::NotYet(told.join(", ")) })
        })
    }

    /// Names of the jobs that do not have exactly one live container, with how many they have.
    fn odd(&self, alive: &[Life]) -> BTreeMap<String, usize> {
        let count = |id: &str| alive.iter().filter(|life| life.job == id).count();
        let counts = self.0.values().map(|member| (member.name.clone(), count(&member.id)));
        counts.filter(|(_, count)| *count != 1).collect()
    }

    /// Waits like [`Fleet::wait_whole`]; cancels and replaces what does not come to run.
    pub fn mend(&mut self, side: &dyn Side, fenced: u32) -> Result<Vec<Life>> {
        let stage = side.stage();
        if let Ok(alive) = self.wait_whole(stage) {
            return Ok(alive);
        }
        for name in self.odd(&alive(stage)?).into_keys() {
            eprintln!("{name} does not run as it should and is replaced");
            self.end(side, &name)?;
        }
        *self = Fleet::muster(side, fenced)?;
        self.wait_whole(stage)
    }

    /// Cancels a job and waits for its end.
    fn end(&self, side: &dyn Side, name: &str) -> Result<()> {
        let member = self.0.get(name).with_context(|| format!("{name} is no job of the rounds"))?;
        side.cancel(&[&member.id])?;
        wait::until(&format!("{name} to end"), PATIENCE, || {
            Ok(found_if(!side.known()?.contains_key(name), "it goes on"))
        })
    }

    pub fn member(&self, job: &str) -> Option<&Member> {
        self.0.values().find(|member| member.id == job)
    }
}

/// The lives that are not over.
pub fn alive(stage: &Stage) -> Result<Vec<Life>> {
    let now = clock::now();
    Ok(life::all(&stage.lives())?.into_iter().filter(|life| !life.is_over(now)).collect())
}

/// Containers run as a user of their own and write into it.
fn open_folder(stage: &Stage) -> Result<()> {
    let folder = stage.lives();
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?)
}

/// A RayJob whose head is the stand-in; nothing else runs.
pub fn manifest(wanted: &Wanted, lives: &Path) -> Value {
    let mut command = vec!["python3", "-c", HEAD];
    command.extend(wanted.is_obedient.then_some("obedient"));
    let container = json!({
        "name": "ray-head", "image": RAY_IMAGE, "command": command,
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "volumeMounts": [{"name": "lives", "mountPath": "/lives"}],
    });
    json!({
        "apiVersion": "ray.io/v1", "kind": "RayJob",
        "metadata": {"name": wanted.name, "namespace": "default"},
        "spec": {
            "entrypoint": "run for ever", "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": true, "ttlSecondsAfterFinished": 1,
            "rayClusterSpec": {
                "rayVersion": "2.60.0",
                "headGroupSpec": {
                    "rayStartParams": {"num-cpus": "1"},
                    "template": {
                        "metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}},
                        "spec": {
                            "containers": [container],
                            "volumes": [{"name": "lives", "hostPath": {"path": lives, "type": "Directory"}}],
                        },
                    },
                },
            },
        },
    })
}
