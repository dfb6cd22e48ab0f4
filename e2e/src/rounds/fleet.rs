//! The fleet of a run: jobs that run for ever under each policy, so that a round costs no start of Ray.
//!
//! Invariant: before a round each job has exactly one container that lives; one that has not after a while is cancelled and
//! replaced. A job is known by its name, so a run that is continued finds those of the run before.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, time::Duration};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::life::{self, Life};
use crate::{
    clock,
    job::{self, RAY_IMAGE},
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

/// What a member is to be.
struct Wanted {
    name: String,
    is_fenced: bool,
    is_obedient: bool,
    pinned: Option<String>,
}

/// Jobs that are fenced, and one that waits on each cluster. Every other one ends when it is asked to, the rest when it is
/// killed.
fn wanted(stage: &Stage, fenced: u32) -> Vec<Wanted> {
    let fenced = (0..fenced).map(|number| Wanted {
        name: format!("round-fence-{number}"),
        is_fenced: true,
        is_obedient: number % 2 == 1,
        pinned: None,
    });
    let waiting = stage.spec.clusters.iter().map(|cluster| Wanted {
        name: format!("round-wait-{cluster}"),
        is_fenced: false,
        is_obedient: true,
        pinned: Some(cluster.clone()),
    });
    fenced.chain(waiting).collect()
}

impl Fleet {
    /// Finds the jobs of an earlier run and makes those that are missing, until all of them run.
    pub fn muster(stage: &Stage, fenced: u32) -> Result<Fleet> {
        open_folder(stage)?;
        let mut fleet = Fleet::default();
        let known = known(stage)?;
        for wanted in wanted(stage, fenced) {
            let id = match known.get(&wanted.name) {
                Some(id) => id.clone(),
                None => submit(stage, &wanted)?,
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
    pub fn mend(&mut self, stage: &Stage, fenced: u32) -> Result<Vec<Life>> {
        if let Ok(alive) = self.wait_whole(stage) {
            return Ok(alive);
        }
        for name in self.odd(&alive(stage)?).into_keys() {
            eprintln!("{name} does not run as it should and is replaced");
            self.replace(stage, &name)?;
        }
        *self = Fleet::muster(stage, fenced)?;
        self.wait_whole(stage)
    }

    /// Cancels a job and waits for its end.
    fn replace(&self, stage: &Stage, name: &str) -> Result<()> {
        let member = self.0.get(name).with_context(|| format!("{name} is no job of the rounds"))?;
        stage.squadron(&["cancel", "--yes", &member.id])?;
        wait::until(&format!("{name} to end"), PATIENCE, || {
            Ok(found_if(!known(stage)?.contains_key(name), "it goes on"))
        })
    }

    pub fn member(&self, job: &str) -> Option<&Member> {
        self.0.values().find(|member| member.id == job)
    }

    /// Ends all jobs.
    pub fn dismiss(&self, stage: &Stage) -> Result<()> {
        let ids = self.0.values().map(|member| member.id.as_str());
        let cancel: Vec<&str> = ["cancel", "--yes"].into_iter().chain(ids).collect();
        stage.squadron(&cancel)?.ok().map(drop)
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

/// Ids of the jobs of rounds that have not ended, by name.
fn known(stage: &Stage) -> Result<BTreeMap<String, String>> {
    let rows = stage.sql("select name, id from job where ended_at is null and name like 'round-%'")?;
    let pairs = rows.iter().filter_map(|row| row.split_once('|'));
    Ok(pairs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect())
}

fn submit(stage: &Stage, wanted: &Wanted) -> Result<String> {
    let manifest = manifest(&wanted.name, &stage.lives().to_string_lossy(), wanted.is_obedient);
    let file = job::write(&wanted.name, &manifest.to_string())?.to_string_lossy().into_owned();
    let policy = if wanted.is_fenced { "fence" } else { "wait" };
    let mut args = vec!["submit", file.as_str(), "--on-lost", policy];
    if let Some(cluster) = &wanted.pinned {
        args.extend(["--cluster", cluster]);
    }
    let reply = stage.json(&args)?;
    Ok(reply["job"]["id"].as_str().context("the answer to the submission names no job")?.to_owned())
}

/// A RayJob whose head is the stand-in; nothing else runs.
fn manifest(name: &str, lives: &str, is_obedient: bool) -> Value {
    let mut command = vec!["python3", "-c", HEAD];
    command.extend(is_obedient.then_some("obedient"));
    let container = json!({
        "name": "ray-head", "image": RAY_IMAGE, "command": command,
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "volumeMounts": [{"name": "lives", "mountPath": "/lives"}],
    });
    json!({
        "apiVersion": "ray.io/v1", "kind": "RayJob",
        "metadata": {"name": name, "namespace": "default"},
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
