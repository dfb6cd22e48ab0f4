//! RayJobs from submission to clean-up, case by case.

#![allow(clippy::unwrap_used)]

mod begin;
mod cleanup;
mod properties;
mod running;
mod submit;

use serde_json::{Value, json};

use crate::{object, world::World};

/// A RayJob `j` with a head, one worker, and these further spec fields.
pub(super) fn ray_job(change: &Value) -> Value {
    let pod =
        |name: &str| json!({"spec": {"containers": [{"name": name, "image": "rayproject/ray:2.60.0"}]}});
    let mut spec = json!({
        "entrypoint": "python train.py",
        "rayClusterSpec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {"template": pod("ray-head")},
            "workerGroupSpecs": [{"groupName": "g", "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "template": pod("ray-worker")}],
        },
    });
    for (field, value) in change.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "j", "labels": {"squadron.dev/job-id": "7", "team": "vision"}, "annotations": {"a": "b"}},
        "spec": spec,
    })
}

pub(super) fn world(change: &Value) -> World {
    let mut world = World::new();
    world.add(ray_job(change));
    world
}

/// A world whose job runs in Ray and goes on doing so.
pub(super) fn running(change: &Value) -> World {
    let mut world = world(change);
    world.verdict = None;
    world.run_until(12, |world| status(world, "jobStatus") == "RUNNING" && deployment(world) == "Running");
    world
}

pub(super) fn status(world: &World, field: &str) -> String {
    object::text(world.get("RayJob", "j"), &["status", field]).to_owned()
}

pub(super) fn deployment(world: &World) -> String {
    status(world, "jobDeploymentStatus")
}

pub(super) fn number(world: &World, field: &str) -> i64 {
    world.get("RayJob", "j")["status"][field].as_i64().unwrap_or(0)
}

pub(super) fn cluster_exists(world: &World) -> bool {
    !world.of_kind("RayCluster").is_empty()
}

pub(super) fn was_told(world: &World, reason: &str) -> bool {
    world.events.iter().any(|event| event.starts_with(&format!("{reason} ")))
}
