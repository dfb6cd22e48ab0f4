//! Cut networks and killed programs: the job goes on, no fact is lost, none is kept twice.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::{stage, text};
use squadron_e2e::{
    console::Told,
    daemon::signal,
    job::{Job, PATIENCE},
    testbed,
    wait::{self, found_if},
};

const SECONDS: u32 = 100;

/// Every line once and in order.
fn assert_whole(log: &str) {
    let lines: Vec<u32> =
        log.lines().filter_map(|line| line.strip_prefix("line ")?.trim().parse().ok()).collect();
    assert_eq!(lines, (1..=SECONDS).collect::<Vec<_>>());
}

/// The job succeeded in its first attempt with all of its output, and no fact of its cluster is missing.
fn assert_unharmed(id: &str) {
    let stage = stage();
    let detail = stage.wait_job(id, "succeeded").unwrap();
    assert_eq!(detail["attempts"].as_array().unwrap().len(), 1);
    assert_whole(&stage.wait_log(id, &format!("line {SECONDS}\n")).unwrap());
    let cluster = text(&detail["job"]["cluster"]).to_owned();
    wait::until("the facts to be without a gap", PATIENCE, || {
        let gaps = stage.gaps(&cluster)?;
        Ok(found_if(gaps.is_empty(), format!("{gaps:?}")))
    })
    .unwrap();
    assert_eq!(stage.sql("select count(*) from rejected_record").unwrap(), ["0"]);
}

fn running(name: &'static str, cluster: &str) -> String {
    let id = stage().submit(&Job::counting(name, SECONDS), &["--cluster", cluster]).unwrap();
    stage().wait_log(&id, "line 3\n").unwrap();
    id
}

#[test]
fn cluster_cut_off_for_a_minute_is_called_silent_and_loses_nothing() {
    let stage = stage();
    let cluster = stage.spec.clusters[0].clone();
    let id = running("chaos-cut", &cluster);
    let cut_at = Instant::now();
    testbed::cut(&cluster, stage.spec.agent_port).unwrap();
    stage.wait_for_state(&cluster, &["silent"]).unwrap();
    let silent = stage.cluster(&cluster).unwrap().unwrap();
    assert_ne!(text(&silent["silent_since"]), "");
    stage.console_tells(Told::Silent, &cluster).unwrap();
    let detail = stage.detail(&id).unwrap();
    assert_eq!(detail["job"]["state"], "running");
    assert_ne!(text(&detail["job"]["stale_since"]), "");
    wait::until("a minute to pass", Duration::from_secs(70), || {
        Ok(found_if(cut_at.elapsed() >= Duration::from_secs(60), "less"))
    })
    .unwrap();
    testbed::heal(&cluster).unwrap();
    stage.wait_for_state(&cluster, &["active"]).unwrap();
    assert_unharmed(&id);
}

#[test]
fn control_plane_postgres_and_agent_killed_one_after_another_lose_nothing() {
    let stage = stage();
    let cluster = stage.spec.clusters[1].clone();
    let id = running("chaos-kill", &cluster);
    stage.control_plane().kill().unwrap();
    stage.start_control_plane().unwrap();
    stage.wait_log(&id, "line 25\n").unwrap();
    signal("KILL", stage.postgres_pid().unwrap()).unwrap();
    stage.wait_log(&id, "line 40\n").unwrap();
    stage.signal_agent(&cluster, "KILL").unwrap();
    stage.wait_log(&id, "line 60\n").unwrap();
    assert_unharmed(&id);
}
