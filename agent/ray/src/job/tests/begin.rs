//! New, Initializing, suspension, validation, deletion.

use std::time::Duration;

use super::*;
use crate::plan::{Action, Plan};

#[test]
fn finalizer_comes_first_then_the_ids_then_the_cluster() {
    let mut world = world(&json!({}));
    world.pass();
    assert_eq!(world.get("RayJob", "j")["metadata"]["finalizers"], json!(["ray.io/rayjob-finalizer"]));
    assert_eq!(deployment(&world), "");
    world.pass();
    assert_eq!(deployment(&world), "Initializing");
    assert!(status(&world, "jobId").starts_with("j-") && status(&world, "rayClusterName").starts_with("j-"));
    assert_ne!(status(&world, "jobId"), status(&world, "rayClusterName"));
    assert!(!cluster_exists(&world), "the name must be stored before the cluster is made");
    world.pass();
    assert!(cluster_exists(&world));
    assert!(was_told(&world, "CreatedRayCluster"));
}

#[test]
fn rj_cl_child_cluster_carries_labels_annotations_and_the_raw_spec() {
    let mut world = world(&json!({}));
    world.get_mut("RayJob", "j")["spec"]["rayClusterSpec"]["futureField"] = json!({"kept": true});
    world.settle();
    let cluster = world.of_kind("RayCluster")[0].clone();
    let labels = &cluster["metadata"]["labels"];
    assert_eq!(labels["ray.io/originated-from-cr-name"], "j");
    assert_eq!(labels["ray.io/originated-from-crd"], "RayJob");
    assert_eq!(labels["ray.io/job-submission-mode"], "K8sJobMode");
    assert_eq!(
        (labels["team"].as_str(), cluster["metadata"]["annotations"]["a"].as_str()),
        (Some("vision"), Some("b"))
    );
    assert_eq!(cluster["spec"]["futureField"]["kept"], true);
    assert_eq!(cluster["metadata"]["ownerReferences"][0]["kind"], "RayJob");
    let pods = world.of_kind("Pod");
    assert!(
        pods.iter()
            .all(|pod| object::label(pod, "squadron.dev/job-id") == "7"
                && object::label(pod, "team").is_empty())
    );
    assert!(!world.get("Service", "j-head-svc").is_null());
}

#[test]
fn rj_cl_child_cluster_in_full() {
    let mut world = world(&json!({}));
    world.settle();
    let mut cluster = world.of_kind("RayCluster")[0].clone();
    cluster["metadata"]["name"] = json!("j-xxxxx");
    cluster["status"] = json!(null);
    insta::assert_yaml_snapshot!(cluster);
}

#[test]
fn own_job_id_is_used() {
    let mut world = world(&json!({"jobId": "mine"}));
    world.settle();
    assert_eq!(status(&world, "jobId"), "mine");
}

#[test]
fn sh_1_foreign_manager_is_left_alone() {
    let world = world(&json!({"managedBy": "kueue.x-k8s.io/multikueue"}));
    assert_eq!(world.plan_job("j"), Plan::default());
}

#[test]
fn a_job_that_waits_for_squadron_or_was_imported_is_left_alone() {
    let mut world = world(&json!({"suspend": true, "shutdownAfterJobFinishes": true}));
    let job = world.get_mut("RayJob", "j");
    job["metadata"]["labels"] = json!({"squadron.dev/queue": "research"});
    assert_eq!(world.plan_job("j"), Plan::default());
    let job = world.get_mut("RayJob", "j");
    let uid = object::uid(job).to_owned();
    job["spec"]["suspend"] = json!(false);
    job["metadata"]["annotations"]["squadron.dev/imported-as"] =
        json!(format!("01938f2e-7a3c-7d31-9d4e-00c0ffee1234.{uid}"));
    assert_eq!(world.plan_job("j"), Plan::default(), "its job runs elsewhere");
    let job = world.get_mut("RayJob", "j");
    job["metadata"]["annotations"]["squadron.dev/imported-as"] =
        json!("01938f2e-7a3c-7d31-9d4e-00c0ffee1234.another-uid");
    assert_ne!(world.plan_job("j"), Plan::default(), "a copied mark is none");
}

#[test]
fn rj_3_invalid_job_is_told_once_and_recovers() {
    let mut world = world(&json!({"runtimeEnvYAML": "invalid_yaml_string"}));
    world.settle();
    assert_eq!(
        (deployment(&world).as_str(), status(&world, "reason").as_str()),
        ("ValidationFailed", "ValidationFailed")
    );
    assert!(status(&world, "message").starts_with("spec.runtimeEnvYAML: "));
    assert_eq!(world.events.len(), 1);
    assert!(was_told(&world, "InvalidRayJobSpec"));
    world.get_mut("RayJob", "j")["spec"]["runtimeEnvYAML"] = json!("env_vars: {A: b}");
    world.run_until(20, |world| deployment(world) == "Complete");
}

#[test]
fn rj_3_long_name_is_refused() {
    let mut job = ray_job(&json!({}));
    job["metadata"]["name"] = json!("a".repeat(48));
    let mut world = World::new();
    world.add(job);
    world.settle();
    assert_eq!(
        object::text(world.of_kind("RayJob")[0], &["status", "jobDeploymentStatus"]),
        "ValidationFailed"
    );
    assert!(was_told(&world, "InvalidRayJobMetadata"));
}

#[test]
fn later_edits_do_not_fail_a_running_job() {
    let mut world = running(&json!({}));
    world.get_mut("RayJob", "j")["spec"]["ttlSecondsAfterFinished"] = json!(5);
    world.settle();
    assert_eq!(deployment(&world), "Running");
}

#[test]
fn created_suspended_job_never_makes_a_cluster() {
    let mut world = world(&json!({"suspend": true, "shutdownAfterJobFinishes": true}));
    world.settle();
    assert_eq!(deployment(&world), "Suspended");
    assert!(!was_told(&world, "CreatedRayCluster"));
    world.get_mut("RayJob", "j")["spec"]["suspend"] = json!(false);
    world.run_until(20, |world| deployment(world) == "Complete");
}

#[test]
fn running_job_is_suspended_and_starts_anew() {
    let mut world = running(&json!({"shutdownAfterJobFinishes": true}));
    let first = status(&world, "jobId");
    world.get_mut("RayJob", "j")["spec"]["suspend"] = json!(true);
    world.settle();
    assert_eq!(deployment(&world), "Suspended");
    assert!(!cluster_exists(&world) && world.get("Job", "j").is_null());
    assert!(was_told(&world, "DeletedRayCluster") && was_told(&world, "DeletedRayJobSubmitter"));
    assert_eq!((status(&world, "jobId"), status(&world, "jobStatus")), (String::new(), String::new()));
    world.get_mut("RayJob", "j")["spec"]["suspend"] = json!(false);
    world.verdict = Some("SUCCEEDED");
    world.run_until(20, |world| deployment(world) == "Complete");
    assert_ne!(status(&world, "jobId"), first);
}

#[test]
fn rj_t1_active_deadline_ends_a_starting_job_for_good() {
    let mut world = world(&json!({"activeDeadlineSeconds": 5, "backoffLimit": 3}));
    world.refused = Some(("headgroup", "exceeded quota"));
    world.settle();
    assert!(world.plan_job("j").wake_after.unwrap() <= Duration::from_secs(5));
    world.skip(Duration::from_secs(5));
    world.settle();
    assert_eq!(
        (deployment(&world).as_str(), status(&world, "reason").as_str()),
        ("Failed", "DeadlineExceeded")
    );
    assert_eq!(number(&world, "failed"), 1);
}

#[test]
fn rj_t1_submitter_of_a_job_that_is_over_never_submits() {
    let mut world = world(&json!({"activeDeadlineSeconds": 5}));
    world.settle();
    world.tick();
    world.settle();
    assert!(!world.get("Job", "j").is_null(), "it waits beside the starting cluster");
    world.ray.clear();
    world.skip(Duration::from_secs(5));
    world.settle();
    assert_eq!(status(&world, "reason"), "DeadlineExceeded");
    assert!(world.get("Job", "j").is_null());
}

#[test]
fn rj_t2_pre_running_deadline_is_retried() {
    let mut world = world(&json!({"preRunningDeadlineSeconds": 5, "backoffLimit": 1}));
    world.refused = Some(("headgroup", "exceeded quota"));
    world.settle();
    let first = status(&world, "rayClusterName");
    world.skip(Duration::from_secs(5));
    world.settle();
    assert_eq!((deployment(&world).as_str(), number(&world, "failed")), ("Initializing", 1));
    assert_ne!(status(&world, "rayClusterName"), first);
    world.skip(Duration::from_secs(5));
    world.settle();
    assert_eq!(
        (deployment(&world).as_str(), status(&world, "reason").as_str()),
        ("Failed", "PreRunningDeadlineExceeded")
    );
}

#[test]
fn selected_cluster_is_used_and_never_deleted() {
    let mut world = World::new();
    let mut shared = json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "shared"}});
    shared["spec"] = ray_job(&json!({}))["spec"]["rayClusterSpec"].clone();
    world.add(ray_job(&json!({"rayClusterSpec": null, "clusterSelector": {"ray.io/cluster": "shared"}, "shutdownAfterJobFinishes": true})));
    world.settle();
    assert!(was_told(&world, "RayClusterNotFound"));
    world.add(shared);
    world.run_until(20, |world| deployment(world) == "Complete");
    world.settle();
    assert!(cluster_exists(&world));
    assert!(world.get("Service", "j-head-svc").is_null());
}

#[test]
fn interactive_job_waits_for_the_users_id() {
    let mut world = world(&json!({"submissionMode": "InteractiveMode"}));
    world.run_until(8, |world| deployment(world) == "Waiting");
    assert!(world.get("Job", "j").is_null());
    world.ray.insert("theirs".to_owned(), "RUNNING".to_owned());
    world.get_mut("RayJob", "j")["spec"]["jobId"] = json!("theirs");
    world.run_until(8, |world| deployment(world) == "Complete");
    assert_eq!(status(&world, "jobId"), "theirs");
}

#[test]
fn deleted_job_is_stopped_and_released() {
    let mut world = running(&json!({}));
    world.delete("RayJob", "j");
    let plan = world.plan_job("j");
    assert!(matches!(plan.steps[0].action, Action::StopRayJob { .. }));
    world.settle();
    assert!(world.get("RayJob", "j").is_null() && !cluster_exists(&world) && world.get("Job", "j").is_null());
}

#[test]
fn a_deleted_job_stays_until_its_drivers_last_words_were_read() {
    let mut world = running(&json!({"submissionMode": "HTTPMode"}));
    world.log_open = true;
    world.delete("RayJob", "j");
    world.settle();
    assert_eq!(status(&world, "jobStatus"), "STOPPED");
    assert!(cluster_exists(&world));
    world.log_open = false;
    world.settle();
    assert!(world.get("RayJob", "j").is_null() && !cluster_exists(&world));
}

#[test]
fn nobody_waits_long_for_last_words() {
    let mut world = running(&json!({"submissionMode": "HTTPMode"}));
    world.log_open = true;
    world.delete("RayJob", "j");
    world.settle();
    world.skip(Duration::from_secs(9));
    world.settle();
    assert!(cluster_exists(&world));
    world.skip(Duration::from_secs(1));
    world.settle();
    assert!(world.get("RayJob", "j").is_null());
    let mut silent = running(&json!({"submissionMode": "HTTPMode"}));
    (silent.log_open, silent.dashboard_up) = (true, false);
    silent.delete("RayJob", "j");
    silent.settle();
    assert!(silent.get("RayJob", "j").is_null(), "a head that does not answer says nothing more");
}

#[test]
fn invalid_job_can_be_deleted() {
    let mut world = running(&json!({}));
    world.get_mut("RayJob", "j")["spec"]["entrypointNumCpus"] = json!("many");
    world.delete("RayJob", "j");
    world.settle();
    assert!(world.get("RayJob", "j").is_null());
}
