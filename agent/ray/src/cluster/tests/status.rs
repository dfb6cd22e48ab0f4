//! Conditions, counters, suspension and validation.

use serde_json::json;

use super::*;

#[test]
fn rc_3_rc_4_conditions_of_a_starting_cluster() {
    let mut world = world(ray_cluster(1, 0, 3));
    world.settle();
    assert_eq!(condition(&world, "HeadPodReady"), ("Unknown".into(), "Unknown".into()));
    assert_eq!(
        condition(&world, "RayClusterProvisioned"),
        ("False".into(), "RayClusterPodsProvisioning".into())
    );
    world.tick();
    world.settle();
    assert_eq!(condition(&world, "HeadPodReady"), ("False".into(), "ContainersNotReady".into()));
    world.tick();
    world.settle();
    assert_eq!(condition(&world, "HeadPodReady"), ("True".into(), "HeadPodRunningAndReady".into()));
    assert_eq!(
        condition(&world, "RayClusterProvisioned"),
        ("True".into(), "AllPodRunningAndReadyFirstTime".into())
    );
}

#[test]
fn rc_3_bad_image_names_its_reason() {
    let mut world = ready(0, 0, 3);
    let head = world.pods("headgroup")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    world.get_mut("Pod", &head)["status"] = json!({
        "phase": "Pending",
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers with unready status"}],
        "containerStatuses": [{"name": "ray-head", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}],
    });
    world.settle();
    assert_eq!(condition(&world, "HeadPodReady"), ("False".into(), "ImagePullBackOff".into()));
}

#[test]
fn rc_2_state_stays_ready_when_pods_are_lost() {
    let mut world = ready(1, 0, 3);
    let head = world.pods("headgroup")[0]["metadata"]["name"].as_str().unwrap().to_owned();
    world.objects.remove(&("Pod".to_owned(), head));
    world.settle();
    assert_eq!(state(&world), "ready");
    assert_eq!(condition(&world, "RayClusterProvisioned").0, "True");
}

#[test]
fn rc_5_quota_shows_as_replica_failure_until_it_is_over() {
    let mut world = world(ray_cluster(1, 0, 3));
    world.refused = Some(("Pod", "exceeded quota"));
    world.settle();
    assert_eq!(condition(&world, "ReplicaFailure"), ("True".into(), "FailedCreateHeadPod".into()));
    let conditions = world.get("RayCluster", "c")["status"]["conditions"].as_array().unwrap().clone();
    let failure = conditions.iter().find(|one| one["type"] == "ReplicaFailure").unwrap();
    assert!(failure["message"].as_str().unwrap().contains("forbidden: exceeded quota"), "{failure}");
    assert!(world.pods("g").is_empty(), "workers would take the head's room");
    world.refused = None;
    world.run_until(8, |world| state(world) == "ready");
    assert_eq!(condition(&world, "ReplicaFailure"), (String::new(), String::new()));
}

#[test]
fn status_of_a_ready_cluster() {
    let world = ready(2, 1, 5);
    let mut status = world.get("RayCluster", "c")["status"].clone();
    status["head"]["podName"] = json!("c-head-xxxxx");
    insta::assert_yaml_snapshot!(status);
}

#[test]
fn rc_sus_1_suspension_empties_the_cluster_and_resumes() {
    let mut world = ready(1, 0, 3);
    world.get_mut("RayCluster", "c")["spec"]["suspend"] = json!(true);
    world.pass();
    assert_eq!(condition(&world, "RayClusterSuspending").0, "True");
    assert_eq!(world.pods("g").len(), 1, "the condition is written before anything is deleted");
    world.run_until(5, |world| state(world) == "suspended");
    assert_eq!(condition(&world, "RayClusterSuspended"), ("True".into(), "RayClusterSuspended".into()));
    assert_eq!(
        condition(&world, "RayClusterProvisioned"),
        ("False".into(), "RayClusterPodsProvisioning".into())
    );
    assert_eq!(condition(&world, "HeadPodReady"), ("False".into(), "HeadPodNotFound".into()));
    world.get_mut("RayCluster", "c")["spec"]["suspend"] = json!(false);
    world.run_until(6, |world| state(world) == "ready");
    assert_eq!(condition(&world, "RayClusterSuspended").0, "False");
}

#[test]
fn rc_sus_2_suspension_is_finished_even_if_it_is_taken_back() {
    let mut world = ready(1, 0, 3);
    world.get_mut("RayCluster", "c")["spec"]["suspend"] = json!(true);
    world.pass();
    world.get_mut("RayCluster", "c")["spec"]["suspend"] = json!(false);
    world.pass();
    assert!(world.pods("headgroup").is_empty());
    world.run_until(8, |world| {
        state(world) == "ready" && condition(world, "RayClusterProvisioned").0 == "True"
    });
}

#[test]
fn invalid_spec_is_told_once_and_recovers() {
    let mut cluster = ray_cluster(1, 0, 3);
    cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"] = json!([]);
    let mut world = world(cluster);
    world.settle();
    let reason = world.get("RayCluster", "c")["status"]["reason"].as_str().unwrap().to_owned();
    assert!(
        reason.starts_with("InvalidRayClusterSpec: spec.headGroupSpec.template.spec.containers"),
        "{reason}"
    );
    assert_eq!(world.events.len(), 1);
    world.get_mut("RayCluster", "c")["spec"]["headGroupSpec"]["template"]["spec"]["containers"] =
        json!([{"name": "ray-head"}]);
    world.run_until(5, |world| state(world) == "ready");
    assert!(world.get("RayCluster", "c")["status"]["reason"].is_null());
}
