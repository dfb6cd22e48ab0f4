//! `ray job` and `JobSubmissionClient` of an unmodified Ray, against the control plane and two clusters.

#![allow(clippy::unwrap_used)]

mod common;

use common::{stage, text};
use squadron_e2e::{
    job::PATIENCE,
    ray_client::RayClient,
    wait::{self, Look},
};

/// Imports a module from the working directory, and works in Ray.
const TRAIN: &str = "
import os, ray, greeting
ray.init()
print(greeting.TEXT, ray.get(ray.remote(lambda: 6 * 7).remote()), os.environ['COLOUR'], flush=True)
";

fn working_directory() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("squadron-ray-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("train.py"), TRAIN).unwrap();
    std::fs::write(folder.join("greeting.py"), "TEXT = 'from the working directory'\n").unwrap();
    folder
}

#[test]
fn a_working_directory_runs_on_the_fleet_and_its_log_is_followed() {
    let ray = RayClient::ensure(stage()).unwrap();
    let folder = working_directory();
    let id = format!("e2e-ray-{}", std::process::id());
    let env = r#"{"env_vars": {"COLOUR": "green"}}"#;
    let args = ["--submission-id", &id, "--working-dir", folder.to_str().unwrap(), "--runtime-env-json", env];
    let line: Vec<&str> = args.into_iter().chain(["--", "python", "train.py"]).collect();
    let said = ray.job("submit", &line).unwrap().ok().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(said.contains("from the working directory 42 green"), "{said}");
    let status = ray.job("status", &[&id]).unwrap();
    assert!(status.stdout.contains("succeeded") || status.stderr.contains("succeeded"), "{status:?}");
    let log = ray.job("logs", &[&id]).unwrap().ok().unwrap();
    assert!(log.contains("from the working directory 42 green"), "{log}");
    let listed =
        ray.script("print([job.submission_id for job in client.list_jobs()])").unwrap().ok().unwrap();
    assert!(listed.contains(&id), "{listed}");
    let job = stage().json(&["describe", &id]).unwrap();
    assert_eq!(text(&job["job"]["state"]), "succeeded", "the submission id names the job here, too: {job}");
    let deleted = ray.script(&format!("print(client.delete_job({id:?}))")).unwrap().ok().unwrap();
    assert_eq!(deleted.trim(), "True");
    let gone = ray.job("status", &[&id]).unwrap();
    assert!(gone.code != Some(0) && gone.stderr.contains(&format!("Job {id} does not exist")), "{gone:?}");
}

#[test]
fn a_running_job_is_stopped_and_a_failing_one_tells_its_exit_code() {
    let ray = RayClient::ensure(stage()).unwrap();
    let id = format!("e2e-ray-stop-{}", std::process::id());
    let patient = "trap 'echo the last words; exit 0' TERM; while true; do sleep 0.1; done";
    let endless = ["--no-wait", "--submission-id", &id, "--", "sh", "-c", patient];
    ray.job("submit", &endless).unwrap().ok().unwrap();
    let ask = format!("print(client.get_job_status({id:?}))");
    wait::until("the job to run", PATIENCE, || {
        let status = ray.script(&ask)?.ok()?;
        Ok(if status.trim() == "RUNNING" { Look::Found(()) } else { Look::NotYet(status) })
    })
    .unwrap();
    let stopped = ray.job("stop", &[&id]).unwrap();
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(ray.script(&ask).unwrap().ok().unwrap().trim(), "STOPPED");
    wait::until("what the driver said when it was stopped", PATIENCE, || {
        let log = ray.job("logs", &[&id])?.ok()?;
        Ok(if log.contains("the last words") { Look::Found(()) } else { Look::NotYet(log) })
    })
    .unwrap();
    let failed = ray.job("submit", &["--", "sh", "-c", "echo before the end; exit 3"]).unwrap();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("before the end"), "{failed:?}");
    let code = ray.script("print(client.list_jobs()[0].driver_exit_code)").unwrap().ok().unwrap();
    assert_eq!(code.trim(), "3");
}
