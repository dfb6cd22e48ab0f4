//! From create to ready, through failures and changes.

use serde_json::json;

use super::*;
use crate::{object, plan::Action, world::brief};

fn names(pods: &[&Value]) -> Vec<String> {
    pods.iter().map(|pod| object::name(pod).to_owned()).collect()
}

#[test]
fn obj_1_pod_1_first_pass_creates_service_head_and_workers() {
    let world = world(ray_cluster(1, 0, 3));
    let plan = world.plan_cluster("c");
    let made: Vec<&Value> = plan
        .steps
        .iter()
        .map(|step| match &step.action {
            Action::Create { object } => object,
            other => panic!("{other:?}"),
        })
        .collect();
    let kinds: Vec<&str> = made.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Service", "Pod", "Pod"]);
    insta::assert_yaml_snapshot!("head_service", made[0]);
    insta::assert_yaml_snapshot!("head_pod", brief(made[1]));
    insta::assert_yaml_snapshot!("worker_pod", brief(made[2]));
}

#[test]
fn rc_2_cluster_becomes_ready_and_then_rests() {
    let world = ready(2, 0, 3);
    assert_eq!((world.pods("headgroup").len(), world.pods("g").len()), (1, 2));
    let plan = world.plan_cluster("c");
    assert!(plan.is_idle());
    assert_eq!(plan.wake_after, Some(std::time::Duration::from_secs(300)));
    let expected = ["CreatedService", "CreatedHeadPod", "CreatedWorkerPod", "CreatedWorkerPod"];
    let reasons: Vec<&str> = world.events.iter().map(|event| event.split(' ').next().unwrap()).collect();
    assert_eq!(reasons, expected);
}

#[test]
fn sh_1_foreign_manager_is_left_alone() {
    let mut cluster = ray_cluster(1, 0, 3);
    cluster["spec"]["managedBy"] = json!("kueue.x-k8s.io/multikueue");
    let world = world(cluster);
    assert_eq!(world.plan_cluster("c"), crate::plan::Plan::default());
}

#[test]
fn rc_fin_5_deleting_cluster_is_left_to_garbage_collection() {
    let mut world = ready(1, 0, 3);
    world.get_mut("RayCluster", "c")["metadata"]["deletionTimestamp"] = json!("2026-11-29T00:00:00Z");
    assert_eq!(world.plan_cluster("c"), crate::plan::Plan::default());
}

#[test]
fn rc_head_1_ended_head_is_replaced_only_after_it_is_gone() {
    let mut world = ready(1, 0, 3);
    let old = names(&world.pods("headgroup")).remove(0);
    world.get_mut("Pod", &old)["status"]["phase"] = json!("Failed");
    world.settle();
    assert!(world.pods("headgroup").is_empty(), "the old head must go first");
    assert!(world.get("Pod", &old)["metadata"]["deletionTimestamp"].is_string());
    world.tick();
    world.settle();
    assert_eq!(world.pods("headgroup").len(), 1);
    assert!(world.events.iter().any(|event| event.starts_with("DeletedHeadPod Deleted head Pod test/")));
}

#[test]
fn rc_head_1_ray_container_that_ended_for_good_counts_as_ended() {
    let mut world = ready(0, 0, 3);
    let head = names(&world.pods("headgroup")).remove(0);
    let pod = world.get_mut("Pod", &head);
    pod["status"]["containerStatuses"] =
        json!([{"name": "ray-head", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]);
    world.settle();
    assert_eq!(world.pods("headgroup").len(), 1, "the kubelet restarts it in place");
    world.get_mut("Pod", &head)["spec"]["restartPolicy"] = json!("Never");
    world.settle();
    assert!(world.pods("headgroup").is_empty());
    assert!(world.events.last().unwrap().contains("OOMKilled (exit code 137)"), "{:?}", world.events.last());
}

#[test]
fn rc_head_1_two_heads_stop_everything() {
    let mut world = ready(1, 0, 3);
    let mut second = world.pods("headgroup")[0].clone();
    second["metadata"]["name"] = json!("c-head-other");
    world.add(second);
    let worker = names(&world.pods("g")).remove(0);
    world.get_mut("Pod", &worker)["status"]["phase"] = json!("Failed");
    assert!(world.plan_cluster("c").steps.is_empty());
}

#[test]
fn rc_wrk_2_failed_worker_is_replaced() {
    let mut world = ready(2, 0, 3);
    let broken = names(&world.pods("g")).remove(0);
    world.get_mut("Pod", &broken)["status"]["phase"] = json!("Failed");
    world.run_until(5, |world| world.pods("g").len() == 2 && world.get("Pod", &broken).is_null());
}

#[test]
fn rc_wrk_3_workers_to_delete_must_belong_to_the_group() {
    let mut world = ready(2, 0, 3);
    let (worker, head) = (names(&world.pods("g")).remove(0), names(&world.pods("headgroup")).remove(0));
    world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["scaleStrategy"] =
        json!({"workersToDelete": [worker, head]});
    world.settle();
    assert!(object::is_deleting(world.get("Pod", &worker)));
    assert_eq!(world.pods("headgroup").len(), 1);
    assert_eq!(world.pods("g").len(), 2, "its place is filled again");
}

#[test]
fn rc_wrk_4_scale_down_deletes_exactly_the_surplus() {
    let mut world = ready(3, 1, 5);
    world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["replicas"] = json!(2);
    world.settle();
    let deleting = world.of_kind("Pod").into_iter().filter(|pod| object::is_deleting(pod)).count();
    assert_eq!((deleting, world.pods("g").len(), world.pods("headgroup").len()), (1, 2, 1));
}

#[test]
fn rc_wrk_4_idle_pods_go_first() {
    let mut world = ready(2, 1, 5);
    world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["replicas"] = json!(3);
    world.settle();
    let old: Vec<String> = names(&world.pods("g"))
        .into_iter()
        .filter(|name| !world.get("Pod", name)["status"].is_null())
        .collect();
    world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["replicas"] = json!(2);
    world.settle();
    assert_eq!(names(&world.pods("g")), old);
}

#[test]
fn rc_wrk_4_with_autoscaling_only_the_autoscaler_removes_workers() {
    let mut cluster = ray_cluster(2, 0, 5);
    cluster["spec"]["enableInTreeAutoscaling"] = json!(true);
    let mut world = world(cluster);
    world.run_until(5, |world| state(world) == "ready");
    world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"][0]["replicas"] = json!(1);
    world.settle();
    assert_eq!(world.pods("g").len(), 2);
    for (kind, name) in [("ServiceAccount", "c"), ("Role", "c"), ("RoleBinding", "c")] {
        assert!(!world.get(kind, name).is_null(), "{kind}");
    }
}

#[test]
fn rc_upg_2_removed_group_leaves_the_cluster() {
    let mut cluster = ray_cluster(1, 0, 3);
    cluster["spec"]["workerGroupSpecs"].as_array_mut().unwrap().push(group("extra", 2, 0, 3));
    let mut world = world(cluster);
    world.run_until(5, |world| state(world) == "ready");
    world.get_mut("RayCluster", "c")["spec"]["workerGroupSpecs"].as_array_mut().unwrap().pop();
    world.settle();
    assert_eq!((world.pods("extra").len(), world.pods("g").len()), (0, 1));
}

#[test]
fn rc_wrk_6_full_quota_of_one_group_does_not_stop_the_others() {
    let mut cluster = ray_cluster(1, 0, 3);
    cluster["spec"]["workerGroupSpecs"].as_array_mut().unwrap().push(group("other", 1, 0, 3));
    let mut world = world(cluster);
    world.refused = Some(("g", "exceeded quota"));
    world.settle();
    assert_eq!((world.pods("g").len(), world.pods("other").len()), (0, 1));
    let tries = |world: &World| {
        world.events.iter().filter(|event| event.starts_with("FailedToCreateWorkerPod")).count()
    };
    assert_eq!(tries(&world), 1, "one try, then a pause");
    world.tick();
    world.settle();
    assert_eq!(tries(&world), 2);
}

#[test]
fn terminating_workers_are_replaced_and_not_counted() {
    let mut world = ready(2, 0, 3);
    let gone = names(&world.pods("g")).remove(0);
    world.delete("Pod", &gone);
    world.settle();
    assert_eq!(world.pods("g").len(), 2);
    assert!(object::is_deleting(world.get("Pod", &gone)));
}
