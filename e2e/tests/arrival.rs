//! RayJobs that people put into a cluster with kubectl: imported, run elsewhere, told of on the object, cancelled with it.

#![allow(clippy::unwrap_used)]

mod common;

use common::{stage, text};
use serde_json::{Value, json};
use squadron_e2e::{
    job::{Job, PATIENCE, write},
    stage::NAMESPACE as AGENTS,
    wait::{self, Look},
};

/// Where the RayJobs are put; exists in every cluster.
const NAMESPACE: &str = "default";

fn east() -> String {
    stage().spec.clusters[0].clone()
}

fn west() -> String {
    stage().spec.clusters[1].clone()
}

/// A RayJob as people would write it for a queue; `pin` names the only cluster that it may run on.
fn wish(name: &'static str, entrypoint: &str, queue: &str, pin: &str) -> Value {
    let mut manifest = Job::new(name, entrypoint).manifest();
    manifest["metadata"]["labels"] =
        json!({"squadron.dev/queue": queue, "app.kubernetes.io/instance": "team-app"});
    manifest["metadata"]["annotations"] = json!({"squadron.dev/cluster": pin});
    manifest["spec"]["suspend"] = json!(true);
    manifest
}

fn apply(name: &str, manifest: &Value) {
    let file = write(name, &manifest.to_string()).unwrap().to_string_lossy().into_owned();
    stage().kubectl(&east(), &["apply", "-f", &file]).unwrap();
}

fn delete(name: &str) {
    stage()
        .kubectl(&east(), &["-n", NAMESPACE, "delete", "rayjob", name, "--ignore-not-found", "--wait"])
        .unwrap();
}

fn object(name: &str) -> anyhow::Result<Value> {
    let read = stage().kubectl(&east(), &["-n", NAMESPACE, "get", "rayjob", name, "-o", "json"])?;
    Ok(serde_json::from_str(&read)?)
}

/// Waits until the status of the object in east fits.
fn wait_status(name: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    wait::until(&format!("RayJob {name} to tell {what}"), PATIENCE, || {
        let found = object(name)?;
        let status = &found["status"];
        Ok(if fits(status) { Look::Found(found.clone()) } else { Look::NotYet(status.to_string()) })
    })
    .unwrap()
}

/// The job that the object's mark names.
fn job_of(object: &Value) -> String {
    let mark = text(&object["metadata"]["annotations"]["squadron.dev/imported-as"]);
    mark.split('.').next().unwrap_or_default().to_owned()
}

/// Waits for an Event on the object whose note holds `part`.
fn wait_event(name: &str, reason: &str, part: &str) {
    let field = format!("involvedObject.name={name},reason={reason}");
    wait::until(&format!("an Event {reason} on {name}"), PATIENCE, || {
        let events = stage().kubectl(
            &east(),
            &[
                "-n",
                NAMESPACE,
                "get",
                "events",
                "--field-selector",
                &field,
                "-o",
                "jsonpath={.items[*].message}",
            ],
        )?;
        Ok(wait::found_if(events.contains(part), events))
    })
    .unwrap();
}

fn allow() {
    stage().squadron(&["cluster", "allow-queue", &east(), NAMESPACE, "default"]).unwrap().ok().unwrap();
}

#[test]
fn a_rayjob_of_kubectl_runs_on_another_cluster_and_tells_its_end_where_it_was_put() {
    allow();
    delete("arrive-west");
    let manifest =
        wish("arrive-west", "python -c \"print('ran for kubectl', flush=True)\"", "default", &west());
    apply("arrive-west", &manifest);
    let told = wait_status("arrive-west", "the end", |status| status["jobDeploymentStatus"] == "Complete");
    assert_eq!(told["status"]["jobStatus"], "SUCCEEDED", "{}", told["status"]);
    assert_eq!(told["spec"]["suspend"], true, "the spec is its owner's");
    let id = job_of(&told);
    let detail = stage().detail(&id).unwrap();
    assert_eq!(text(&detail["job"]["cluster"]), west());
    assert_eq!(text(&detail["job"]["owner"]), format!("cluster:{}/{NAMESPACE}", east()));
    assert_eq!(text(&detail["source"]["name"]), "arrive-west");
    stage().wait_log(&id, "ran for kubectl").unwrap();
    let shown = stage().squadron(&["describe", &id]).unwrap().ok().unwrap();
    assert!(shown.contains(&format!("by kubectl in {}/{NAMESPACE}/arrive-west", east())), "{shown}");
    let owned = [
        "-n",
        NAMESPACE,
        "get",
        "raycluster",
        "-o",
        "name",
        "-l",
        "ray.io/originated-from-cr-name=arrive-west",
    ];
    assert_eq!(stage().kubectl(&east(), &owned).unwrap().trim(), "", "nothing of it ran in its own cluster");
    // Applied again, as GitOps does every few minutes, it is the same object and the same job.
    apply("arrive-west", &manifest);
    let again = stage().json(&["list", "--limit", "500"]).unwrap();
    let of_this = |job: &&Value| job["name"] == "arrive-west" && job["id"] != id;
    let others = again["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_this)
        .filter(|job| job["submitted_at"].as_str() > detail["job"]["submitted_at"].as_str());
    assert_eq!(others.count(), 0, "{again}");
    delete("arrive-west");
}

#[test]
fn in_its_own_cluster_it_runs_as_an_object_of_squadrons() {
    allow();
    delete("arrive-here");
    let manifest = wish("arrive-here", "python -c \"print('ran at home', flush=True)\"", "default", &east());
    apply("arrive-here", &manifest);
    let running = wait_status("arrive-here", "that it runs or ran", |status| {
        ["RUNNING", "SUCCEEDED"].contains(&text(&status["jobStatus"]))
    });
    let id = job_of(&running);
    let selector = format!("squadron.dev/job-id={id}");
    let objects =
        ["-n", NAMESPACE, "get", "rayjob", "-l", &selector, "-o", "jsonpath={.items[*].metadata.labels}"];
    let labels = stage().kubectl(&east(), &objects).unwrap();
    assert!(!labels.is_empty() && !labels.contains("team-app"), "GitOps would take it for its own: {labels}");
    stage().wait_job(&id, "succeeded").unwrap();
    wait_status("arrive-here", "the end", |status| status["jobDeploymentStatus"] == "Complete");
    delete("arrive-here");
}

#[test]
fn deleting_one_that_waits_cancels_it() {
    allow();
    delete("arrive-wait");
    let mut manifest = wish("arrive-wait", "python -c pass", "default", "");
    let head = &mut manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0];
    head["resources"]["requests"]["cpu"] = json!("900");
    apply("arrive-wait", &manifest);
    let waits =
        wait_status("arrive-wait", "why it waits", |status| text(&status["message"]).contains("never fits"));
    assert_eq!(waits["status"]["jobDeploymentStatus"], "Suspended");
    delete("arrive-wait");
    let ended = stage().wait_job(&job_of(&waits), "cancelled").unwrap();
    assert!(text(&ended["job"]["sentence"]).contains("its RayJob was deleted"), "{}", ended["job"]);
}

/// Makes the agent of east go, or come.
fn scale_agent(replicas: &str) {
    let (east, to) = (east(), format!("--replicas={replicas}"));
    let scale = ["-n", AGENTS, "scale", "deployment/squadron-agent", &to];
    stage().kubectl(&east, &scale).unwrap();
    wait::until(&format!("{replicas} agents in {east}"), PATIENCE, || {
        let count = ["-n", AGENTS, "get", "deployment/squadron-agent", "-o", "jsonpath={.status.replicas}"];
        let seen = stage().kubectl(&east, &count)?;
        Ok(wait::found_if(seen.trim() == replicas || (replicas == "0" && seen.trim().is_empty()), seen))
    })
    .unwrap();
}

/// Jobs that came from the object and wait.
fn waiting(name: &str) -> usize {
    let listed = stage().json(&["list", "--status", "queued", "--limit", "500"]).unwrap();
    listed["items"].as_array().unwrap().iter().filter(|job| job["name"] == name).count()
}

#[test]
fn an_agent_that_was_away_misses_no_deletion_and_imports_nothing_twice() {
    allow();
    for name in ["arrive-gone", "arrive-stays"] {
        delete(name);
        let mut manifest = wish(name, "python -c pass", "default", "");
        let head =
            &mut manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0];
        head["resources"]["requests"]["cpu"] = json!("900");
        apply(name, &manifest);
    }
    let waits =
        |name| wait_status(name, "why it waits", |status| text(&status["message"]).contains("never fits"));
    let (gone, stays) = (job_of(&waits("arrive-gone")), job_of(&waits("arrive-stays")));
    scale_agent("0");
    delete("arrive-gone");
    scale_agent("1");
    stage().wait_job(&gone, "cancelled").unwrap();
    assert_eq!(waiting("arrive-stays"), 1);
    assert_eq!(job_of(&object("arrive-stays").unwrap()), stays);
    delete("arrive-stays");
    stage().wait_job(&stays, "cancelled").unwrap();
}

#[test]
fn cancelling_is_told_on_the_object() {
    allow();
    delete("arrive-cancel");
    let manifest = wish("arrive-cancel", "python -c \"import time; time.sleep(600)\"", "default", &west());
    apply("arrive-cancel", &manifest);
    let starts =
        wait_status("arrive-cancel", "that it starts", |status| !text(&status["jobStatus"]).is_empty());
    stage().squadron(&["cancel", &job_of(&starts), "--yes"]).unwrap().ok().unwrap();
    wait_status("arrive-cancel", "that it was stopped", |status| status["jobStatus"] == "STOPPED");
    wait_event("arrive-cancel", "Cancelled", "cancelled");
    delete("arrive-cancel");
}

#[test]
fn a_queue_that_was_not_opened_is_refused_with_the_command_that_opens_it() {
    let added = stage().squadron(&["queue", "add", "closed"]).unwrap();
    assert!(added.code == Some(0) || added.stderr.contains("already"), "{added:?}");
    let rule = ["cluster", "disallow-queue", &east(), NAMESPACE, "closed"];
    stage().squadron(&rule).unwrap();
    delete("arrive-closed");
    apply("arrive-closed", &wish("arrive-closed", "python -c pass", "closed", &west()));
    let command = format!("squadron cluster allow-queue {} {NAMESPACE} closed", east());
    let refused = wait_status("arrive-closed", "its refusal", |status| status["reason"] == "NOT_ALLOWED");
    assert!(text(&refused["status"]["message"]).contains(&command), "{}", refused["status"]);
    wait_event("arrive-closed", "Refused", &command);
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    stage().squadron(&words).unwrap().ok().unwrap();
    let told = wait_status("arrive-closed", "the end", |status| status["jobDeploymentStatus"] == "Complete");
    assert_eq!(told["status"]["jobStatus"], "SUCCEEDED", "{}", told["status"]);
    delete("arrive-closed");
    stage().squadron(&rule).unwrap().ok().unwrap();
}

#[test]
fn one_that_does_not_wait_is_told_what_is_missing_and_left_alone() {
    allow();
    delete("arrive-eager");
    let mut manifest = wish("arrive-eager", "python -c pass", "default", &west());
    manifest["spec"]["suspend"] = json!(false);
    // Nobody runs it here either: no image, so that it costs nothing.
    manifest["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["nodeSelector"] =
        json!({"no": "where"});
    apply("arrive-eager", &manifest);
    wait_event("arrive-eager", "NotSuspended", "spec.suspend: true");
    let eager = object("arrive-eager").unwrap();
    assert_eq!(job_of(&eager), "", "{eager}");
    delete("arrive-eager");
}
