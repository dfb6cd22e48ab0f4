//! Every way a running job ends.

use std::time::Duration;

use super::*;

#[track_caller]
fn ended(world: &World, deployment_status: &str, job_status: &str, reason: &str) {
    let found = (deployment(world), status(world, "jobStatus"), status(world, "reason"));
    assert_eq!(
        found,
        (deployment_status.into(), job_status.into(), reason.into()),
        "{}",
        status(world, "message")
    );
    assert!(!status(world, "endTime").is_empty());
}

fn finish_submitter(world: &mut World, kind: &str) {
    let now = crate::object::stamp(world.now);
    world.get_mut("Job", "j")["status"] = json!({"conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": "BackoffLimitExceeded", "message": "no more tries"},
    ]});
}

#[test]
fn success_completes_and_counts() {
    let mut world = world(&json!({}));
    world.run_until(20, |world| deployment(world) == "Complete");
    ended(&world, "Complete", "SUCCEEDED", "");
    assert_eq!((number(&world, "succeeded"), number(&world, "failed")), (1, 0));
    assert!(cluster_exists(&world));
    assert!(world.plan_job("j").is_idle() && world.plan_job("j").poll.is_none());
}

#[test]
fn failure_of_the_driver_fails() {
    let mut world = world(&json!({}));
    world.verdict = Some("FAILED");
    world.run_until(20, |world| deployment(world) == "Failed");
    ended(&world, "Failed", "FAILED", "AppFailed");
    assert_eq!((number(&world, "succeeded"), number(&world, "failed")), (0, 1));
}

#[test]
fn stopped_job_completes() {
    let mut world = world(&json!({"submissionMode": "HTTPMode"}));
    world.verdict = Some("STOPPED");
    world.run_until(20, |world| deployment(world) == "Complete");
    ended(&world, "Complete", "STOPPED", "");
    assert_eq!(number(&world, "succeeded"), 0);
}

#[test]
fn http_mode_submits_once_and_needs_no_submitter() {
    let mut world = world(&json!({"submissionMode": "HTTPMode"}));
    world.run_until(20, |world| deployment(world) == "Complete");
    assert!(world.get("Job", "j").is_null());
    assert_eq!(world.ray.len(), 1);
}

#[test]
fn rj_q_http_job_lost_with_its_head_is_submitted_again() {
    let mut world = running(&json!({"submissionMode": "HTTPMode"}));
    world.ray.clear();
    world.settle();
    assert_eq!(world.ray.len(), 1);
    assert_eq!(deployment(&world), "Running");
}

#[test]
fn ended_job_waits_for_its_submitter() {
    let mut world = running(&json!({}));
    world.ray.values_mut().for_each(|state| "SUCCEEDED".clone_into(state));
    world.settle();
    assert_eq!((deployment(&world).as_str(), status(&world, "jobStatus").as_str()), ("Running", "SUCCEEDED"));
    world.tick();
    world.settle();
    ended(&world, "Complete", "SUCCEEDED", "");
}

#[test]
fn rj_sub_failed_submitter_of_an_unknown_job_fails_the_submission() {
    let mut world = running(&json!({}));
    world.ray.clear();
    world.get_mut("RayJob", "j")["status"]["jobStatus"] = json!("");
    finish_submitter(&mut world, "Failed");
    world.settle();
    ended(&world, "Failed", "", "SubmissionFailed");
    assert_eq!(
        status(&world, "message"),
        "Job submission has failed. Reason: BackoffLimitExceeded. Message: no more tries"
    );
}

#[test]
fn rj_sub_rays_word_beats_the_submitters() {
    for (word, deployment_status, reason) in
        [("SUCCEEDED", "Complete", ""), ("FAILED", "Failed", "AppFailed")]
    {
        let mut world = running(&json!({}));
        world.ray.values_mut().for_each(|state| word.clone_into(state));
        finish_submitter(&mut world, "Failed");
        world.settle();
        ended(&world, deployment_status, word, reason);
    }
}

#[test]
fn rj_sub_failed_submitter_does_not_wait_for_a_silent_dashboard_for_ever() {
    let mut world = running(&json!({}));
    world.get_mut("RayJob", "j")["status"]["jobStatus"] = json!("");
    world.dashboard_up = false;
    finish_submitter(&mut world, "Failed");
    world.settle();
    ended(&world, "Failed", "", "SubmissionFailed");
}

#[test]
fn rj_sub_deleted_submitter_is_made_again() {
    let mut world = running(&json!({}));
    world.delete("Job", "j");
    world.settle();
    assert!(!world.get("Job", "j").is_null());
    assert_eq!(deployment(&world), "Running");
}

#[test]
fn rj_q_submitter_that_left_no_job_behind() {
    let mut world = running(&json!({}));
    world.ray.clear();
    world.get_mut("RayJob", "j")["status"]["jobStatus"] = json!("");
    finish_submitter(&mut world, "Complete");
    world.settle();
    ended(&world, "Failed", "", "AppFailed");
    assert_eq!(status(&world, "message"), "Submitter completed but Ray job not found in RayCluster.");
}

#[test]
fn rj_t5_submitter_finished_but_the_job_goes_on() {
    let mut world = running(&json!({}));
    finish_submitter(&mut world, "Complete");
    world.settle();
    assert_eq!(deployment(&world), "Running");
    assert_eq!(world.plan_job("j").wake_after, Some(Duration::from_secs(30)));
    world.skip(Duration::from_millis(29_999));
    world.settle();
    assert_eq!(deployment(&world), "Running");
    world.skip(Duration::from_millis(1));
    world.settle();
    ended(&world, "Failed", "FAILED", "JobDeploymentStatusTransitionGracePeriodExceeded");
    let message = status(&world, "message");
    assert!(message.starts_with("The RayJob submitter finished at 2026-"), "{message}");
    assert!(message.ends_with(" but the ray job did not reach terminal state within 30s"), "{message}");
}

#[test]
fn rj_t5_head_deleted_while_running() {
    let mut world = running(&json!({}));
    let head = object::name(world.pods("headgroup")[0]).to_owned();
    world.delete("Pod", &head);
    world.ray.clear();
    finish_submitter(&mut world, "Complete");
    for _ in 0..31 {
        world.settle();
        assert_eq!(world.pods("headgroup").len().max(1), 1);
        world.tick();
    }
    world.settle();
    ended(&world, "Failed", "FAILED", "JobDeploymentStatusTransitionGracePeriodExceeded");
    assert_eq!(world.pods("headgroup").len(), 1, "the head came back");
}

#[test]
fn rj_t5_success_during_an_outage_of_ours_is_no_failure() {
    let mut world = running(&json!({}));
    finish_submitter(&mut world, "Complete");
    world.ray.values_mut().for_each(|state| "SUCCEEDED".clone_into(state));
    world.skip(Duration::from_secs(600));
    world.settle();
    ended(&world, "Complete", "SUCCEEDED", "");
}

#[test]
fn lost_job_fails_even_if_the_submitter_hangs() {
    let mut world = running(&json!({}));
    world.ray.clear();
    world.settle();
    assert_eq!(deployment(&world), "Running");
    world.skip(Duration::from_secs(30));
    world.settle();
    ended(&world, "Failed", "FAILED", "AppFailed");
    assert!(status(&world, "message").contains("head was replaced"));
}

#[test]
fn rj_t3_submitter_that_hangs_after_the_end() {
    let mut world = running(&json!({}));
    world.get_mut("RayJob", "j")["status"]["rayJobInfo"] = json!({"endTime": object::stamp(world.now)});
    world.ray.values_mut().for_each(|state| "SUCCEEDED".clone_into(state));
    world.settle();
    world.skip(Duration::from_secs(300));
    world.settle();
    ended(&world, "Complete", "SUCCEEDED", "JobDeploymentStatusTransitionGracePeriodExceeded");
}

#[test]
fn rj_t4_silent_dashboard_fails_after_five_minutes_without_retry() {
    let mut world = running(&json!({"backoffLimit": 3}));
    world.dashboard_up = false;
    world.settle();
    assert!(!status(&world, "jobStatusCheckFailureStartTime").is_empty());
    world.skip(Duration::from_secs(299));
    world.settle();
    world.dashboard_up = true;
    world.settle();
    assert!(status(&world, "jobStatusCheckFailureStartTime").is_empty(), "an answer resets the clock");
    world.dashboard_up = false;
    world.settle();
    world.skip(Duration::from_secs(300));
    world.settle();
    ended(&world, "Failed", "RUNNING", "JobStatusCheckTimeoutExceeded");
}

#[test]
fn deleted_ray_cluster_fails_the_job_in_one_sentence() {
    let mut world = running(&json!({}));
    let cluster = status(&world, "rayClusterName");
    world.delete("RayCluster", &cluster);
    world.settle();
    ended(&world, "Failed", "RUNNING", "AppFailed");
    assert!(status(&world, "message").contains("was deleted while the job was running"));
    assert!(!cluster_exists(&world));
}

#[test]
fn rj_backoff_failures_are_retried_with_a_new_cluster_and_id() {
    let mut world = world(&json!({"backoffLimit": 2}));
    world.verdict = Some("FAILED");
    world.run_until(60, |world| deployment(world) == "Failed");
    assert_eq!((number(&world, "failed"), number(&world, "succeeded")), (3, 0));
    assert_eq!(world.ray.len(), 3, "three ids");
}

#[test]
fn rj_backoff_success_after_a_failure() {
    let mut world = world(&json!({"backoffLimit": 2}));
    world.verdict = Some("FAILED");
    world.run_until(60, |world| number(world, "failed") == 1);
    world.verdict = Some("SUCCEEDED");
    world.run_until(60, |world| deployment(world) == "Complete");
    assert_eq!((number(&world, "failed"), number(&world, "succeeded")), (1, 1));
}

#[test]
fn answers_about_another_job_are_ignored() {
    let mut world = running(&json!({}));
    world.get_mut("RayJob", "j")["status"]["jobId"] = json!("other");
    world.ray.values_mut().for_each(|state| "FAILED".clone_into(state));
    world.pass();
    assert_eq!(status(&world, "jobStatus"), "RUNNING");
}
