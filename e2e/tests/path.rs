//! The path of a job: submitted, placed, run, explained, paid for, and told of after its pods are gone.

#![allow(clippy::unwrap_used)]

mod common;

use common::{stage, text};
use serde_json::Value;
use squadron_e2e::{
    job::{Job, PATIENCE},
    testbed,
    wait::{self, Look},
};

/// The job does real work in Ray: tasks on the worker.
const TASKS: &str = "python -c \"import ray; ray.init(); square = ray.remote(lambda n: n * n); \
    print('sum of squares', sum(ray.get([square.remote(n) for n in range(1, 11)])), flush=True)\"";

#[test]
fn job_runs_and_everything_is_told_after_its_pods_are_gone() {
    let stage = stage();
    stage.squadron(&["prices", "apply", "-f", "demo/prices.yaml"]).unwrap().ok().unwrap();
    let id = stage.submit(&Job::new("path-main", TASKS), &[]).unwrap();
    let detail = stage.wait_job(&id, "succeeded").unwrap();
    assert_eq!(detail["attempts"].as_array().unwrap().len(), 1);
    assert_ne!(text(&detail["attempts"][0]["chosen_because"]), "");
    let cluster = text(&detail["job"]["cluster"]).to_owned();
    stage.wait_log(&id, "sum of squares 385").unwrap();
    stage.wait_pods_gone(&cluster, &id).unwrap();

    let told = wait_gone_told(&id);
    assert_eq!(told["job"]["state"], "succeeded");
    assert!(told["timeline"].as_array().unwrap().len() >= 4, "{}", told["timeline"]);
    stage.wait_log(&id, "sum of squares 385").unwrap();
    let usage = stage.json(&["usage", "--by", "team,job"]).unwrap();
    // Jobs that share a name are told by their ids.
    let of_job = |row: &&Value| text(&row["job"]) == "path-main" || text(&row["job"]) == id;
    let row = rows(&usage).iter().find(of_job).expect("a row of the job");
    assert!(text(&row["cpu_hours"]).parse::<f64>().unwrap() > 0.0, "{row}");
    assert_eq!(usage["total"]["amount"], usage["capacity_amount"]);
}

/// Waits until the control plane knows that every pod of the job is gone.
fn wait_gone_told(id: &str) -> Value {
    wait::until("the control plane to know that the pods are gone", PATIENCE, || {
        let detail = stage().detail(id)?;
        let pods = detail["pods"].as_array().cloned().unwrap_or_default();
        let gone = !pods.is_empty() && pods.iter().all(|pod| pod["gone"] == true);
        Ok(if gone { Look::Found(detail) } else { Look::NotYet(format!("{pods:?}")) })
    })
    .unwrap()
}

fn rows(usage: &Value) -> &[Value] {
    usage["rows"].as_array().map(Vec::as_slice).unwrap_or_default()
}

#[test]
fn job_in_http_mode_succeeds_with_its_log() {
    let stage = stage();
    let job = Job { mode: "HTTPMode", ..Job::new("path-http", TASKS) };
    let id = stage.submit(&job, &[]).unwrap();
    stage.wait_job(&id, "succeeded").unwrap();
    stage.wait_log(&id, "sum of squares 385").unwrap();
}

#[test]
fn failing_driver_is_a_failed_job_with_its_last_words() {
    let stage = stage();
    let job = Job::new("path-fail", "python -c \"raise SystemExit('the ray was lost')\"");
    let id = stage.submit(&job, &[]).unwrap();
    let detail = stage.wait_job(&id, "failed").unwrap();
    assert_ne!(text(&detail["job"]["sentence"]), "");
    assert_eq!(detail["attempts"].as_array().unwrap().len(), 1);
    stage.wait_log(&id, "the ray was lost").unwrap();
}

#[test]
fn worker_killed_for_memory_and_lost_gpu_are_incidents_that_name_the_job() {
    let stage = stage();
    let cluster = stage.spec.clusters[0].clone();
    let id = stage.submit(&Job::counting("path-hit", 300), &["--cluster", &cluster]).unwrap();
    stage.wait_log(&id, "line 2").unwrap();
    testbed::kernel_line(
        &cluster,
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
    )
    .unwrap();
    wait_incident("GPU_XID_79", &id);
    kill_worker_by_memory(&cluster, &id);
    wait_incident("OOM_KILLED", &id);
    stage.squadron(&["cancel", &id, "--yes"]).unwrap().ok().unwrap();
    stage.wait_job(&id, "cancelled").unwrap();
}

/// Takes more memory in the worker's container than its limit; the kernel ends the process and says so in its log.
fn kill_worker_by_memory(cluster: &str, job: &str) {
    let stage = stage();
    let selector = format!("squadron.dev/job-id={job},ray.io/node-type=worker");
    let pod = stage.kubectl(cluster, &["get", "pods", "-l", &selector, "-o", "name"]).unwrap();
    let mut exec = testbed::tool("kubectl", cluster).unwrap();
    let take = "held = bytearray(3 << 30)";
    exec.args(["exec", pod.trim(), "-c", "ray-worker", "--", "python3", "-c", take]);
    let ended = squadron_e2e::command::capture(&mut exec).unwrap();
    assert_ne!(ended.code, Some(0), "three GiB fitted into one: {ended:?}");
}

fn wait_incident(verdict: &str, job: &str) {
    let found = wait::until(&format!("an incident {verdict} that names the job"), PATIENCE, || {
        let listed = stage().json(&["incidents", "list"])?;
        let items = listed["items"].as_array().cloned().unwrap_or_default();
        let names_job = |incident: &Value| {
            incident["jobs"].as_array().is_some_and(|jobs| jobs.iter().any(|hit| hit["id"] == job))
        };
        let hit =
            items.iter().find(|incident| incident["verdict"] == verdict && names_job(incident)).cloned();
        Ok(hit.map_or_else(|| Look::NotYet(listed.to_string()), Look::Found))
    })
    .unwrap();
    assert!(!found["evidence"].as_array().unwrap().is_empty(), "{found}");
    assert_ne!(text(&found["next_step"]), "");
}
