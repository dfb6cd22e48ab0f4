//! Deletion after the end.

use std::time::Duration;

use super::*;

fn complete(change: &Value) -> World {
    let mut world = world(change);
    world.run_until(20, |world| deployment(world) == "Complete");
    world
}

fn rule(policy: &str, ttl: i32) -> Value {
    json!({"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": ttl}})
}

#[test]
fn rj_del_shutdown_deletes_the_cluster_right_after_the_status() {
    let world = complete(&json!({"shutdownAfterJobFinishes": true}));
    assert!(!cluster_exists(&world));
    assert!(!world.get("Job", "j").is_null(), "the submitter stays for its log");
    assert!(was_told(&world, "DeletedRayCluster"));
}

#[test]
fn rj_del_ttl_is_waited_out() {
    let mut world = complete(&json!({"shutdownAfterJobFinishes": true, "ttlSecondsAfterFinished": 10}));
    assert!(cluster_exists(&world));
    assert_eq!(world.plan_job("j").wake_after, Some(Duration::from_secs(10)));
    world.skip(Duration::from_secs(10));
    world.settle();
    assert!(!cluster_exists(&world));
}

#[test]
fn rj_del_the_whole_job_goes_where_the_installation_wants_it() {
    let mut world = world(&json!({"shutdownAfterJobFinishes": true}));
    world.options.delete_finished_ray_job = true;
    world.run_until(20, |world| world.get("RayJob", "j").is_null());
    assert!(world.get("Job", "j").is_null() && !cluster_exists(&world));
}

#[test]
fn rj_del_rules_run_in_stages() {
    let rules = json!([rule("DeleteWorkers", 10), rule("DeleteCluster", 20), rule("DeleteSelf", 30)]);
    let mut world = complete(&json!({"deletionStrategy": {"deletionRules": rules}}));
    assert_eq!(world.pods("g").len(), 1);
    world.skip(Duration::from_secs(10));
    world.settle();
    assert_eq!((world.pods("g").len(), world.pods("headgroup").len()), (0, 1));
    assert!(was_told(&world, "UpdatedRayCluster"));
    world.skip(Duration::from_secs(10));
    world.settle();
    assert!(!cluster_exists(&world));
    world.skip(Duration::from_secs(10));
    world.settle();
    assert!(world.get("RayJob", "j").is_null());
}

#[test]
fn rj_del_of_overdue_rules_the_strongest_runs() {
    let rules = json!([rule("DeleteWorkers", 10), rule("DeleteCluster", 20)]);
    let mut world = complete(&json!({"deletionStrategy": {"deletionRules": rules}}));
    world.skip(Duration::from_secs(25));
    world.settle();
    assert!(!cluster_exists(&world) && !was_told(&world, "UpdatedRayCluster"));
}

#[test]
fn rj_del_deadline_counts_as_failed_for_rules() {
    let rules = json!([{"policy": "DeleteCluster", "condition": {"jobStatus": "FAILED"}}]);
    let mut world =
        running(&json!({"activeDeadlineSeconds": 60, "deletionStrategy": {"deletionRules": rules}}));
    world.skip(Duration::from_secs(60));
    world.settle();
    assert_eq!((deployment(&world).as_str(), status(&world, "jobStatus").as_str()), ("Failed", "RUNNING"));
    assert!(!cluster_exists(&world));
}

#[test]
fn submitter_of_a_lost_cluster_is_ended_but_kept() {
    let mut world = running(&json!({}));
    let cluster = status(&world, "rayClusterName");
    world.delete("RayCluster", &cluster);
    world.settle();
    assert_eq!(deployment(&world), "Failed");
    assert_eq!(world.get("Job", "j")["spec"]["activeDeadlineSeconds"], 1);
}

#[test]
fn rj_del_legacy_policies() {
    let strategy = json!({"onSuccess": {"policy": "DeleteCluster"}, "onFailure": {"policy": "DeleteNone"}});
    let world = complete(&json!({"deletionStrategy": strategy}));
    assert!(!cluster_exists(&world));
}

#[test]
fn finished_job_ignores_suspension() {
    let mut world = complete(&json!({"shutdownAfterJobFinishes": true}));
    world.get_mut("RayJob", "j")["spec"]["suspend"] = json!(true);
    world.settle();
    assert_eq!(deployment(&world), "Complete");
}

#[test]
fn the_head_stays_until_the_end_of_the_drivers_log_was_read() {
    let job = json!({"submissionMode": "HTTPMode", "shutdownAfterJobFinishes": true});
    let mut world = world(&job);
    world.log_open = true;
    world.run_until(20, |world| deployment(world) == "Complete");
    assert!(cluster_exists(&world));
    assert_eq!(world.plan_job("j").wake_after, Some(Duration::from_millis(500)));
    world.log_open = false;
    world.settle();
    assert!(!cluster_exists(&world));
}

#[test]
fn a_log_that_nobody_can_read_holds_the_head_for_a_while_only() {
    let mut world = world(&json!({"submissionMode": "HTTPMode", "shutdownAfterJobFinishes": true}));
    world.log_open = true;
    world.run_until(20, |world| deployment(world) == "Complete");
    world.skip(Duration::from_secs(14));
    world.settle();
    assert!(cluster_exists(&world));
    world.skip(Duration::from_secs(1));
    world.settle();
    assert!(!cluster_exists(&world));
}

#[test]
fn workers_do_not_stay_for_a_log() {
    let rules = json!([rule("DeleteWorkers", 0)]);
    let mut world =
        world(&json!({"submissionMode": "HTTPMode", "deletionStrategy": {"deletionRules": rules}}));
    world.log_open = true;
    world.run_until(20, |world| deployment(world) == "Complete");
    assert_eq!((world.pods("g").len(), world.pods("headgroup").len()), (0, 1));
}

#[test]
fn a_new_try_waits_for_the_log_of_the_last_one() {
    let mut world = world(&json!({"submissionMode": "HTTPMode", "backoffLimit": 1}));
    (world.log_open, world.verdict) = (true, Some("FAILED"));
    world.run_until(20, |world| deployment(world) == "Retrying");
    world.settle();
    assert!(deployment(&world) == "Retrying" && cluster_exists(&world));
    (world.log_open, world.verdict) = (false, Some("SUCCEEDED"));
    world.run_until(20, |world| deployment(world) == "Complete");
    assert_eq!(number(&world, "failed"), 1);
}
