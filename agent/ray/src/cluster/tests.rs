//! RayClusters from creation to deletion, case by case.

#![allow(clippy::unwrap_used)]

mod life;
mod properties;
mod services;
mod status;

use serde_json::{Value, json};

use crate::world::World;

/// A RayCluster `c` with one worker group `g`.
pub(super) fn ray_cluster(replicas: i32, least: i32, most: i32) -> Value {
    json!({
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "c"},
        "spec": {
            "rayVersion": "2.60.0",
            "headGroupSpec": {
                "rayStartParams": {"dashboard-host": "0.0.0.0"},
                "template": {"spec": {"containers": [{
                    "name": "ray-head",
                    "image": "rayproject/ray:2.60.0",
                    "resources": {"limits": {"cpu": "1", "memory": "2Gi"}},
                }]}},
            },
            "workerGroupSpecs": [group("g", replicas, least, most)],
        },
    })
}

pub(super) fn group(name: &str, replicas: i32, least: i32, most: i32) -> Value {
    json!({
        "groupName": name, "replicas": replicas, "minReplicas": least, "maxReplicas": most,
        "template": {"spec": {"containers": [{
            "name": "ray-worker",
            "image": "rayproject/ray:2.60.0",
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        }]}},
    })
}

pub(super) fn world(cluster: Value) -> World {
    let mut world = World::new();
    world.add(cluster);
    world
}

pub(super) fn state(world: &World) -> &str {
    world.get("RayCluster", "c").pointer("/status/state").and_then(Value::as_str).unwrap_or_default()
}

/// Status and reason of a condition.
pub(super) fn condition(world: &World, kind: &str) -> (String, String) {
    let conditions = world.get("RayCluster", "c").pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|one| one["type"] == kind);
    let word = |field: &str| found.and_then(|one| one[field].as_str()).unwrap_or_default().to_owned();
    (word("status"), word("reason"))
}

/// A cluster that is up.
pub(super) fn ready(replicas: i32, least: i32, most: i32) -> World {
    let mut world = world(ray_cluster(replicas, least, most));
    world.run_until(5, |world| state(world) == "ready");
    world
}
