//! Lost clusters: a fenced job starts elsewhere after its first copy has stopped, a job that waits does not. One cluster
//! must be heard while the other is cut, so these tests run one at a time.

#![allow(clippy::unwrap_used)]

mod common;

use std::time::Instant;

use common::{stage, text};
use serde_json::Value;
use squadron_e2e::{
    job::{Job, PATIENCE},
    runs::{Witness, first_start, last_end},
    stage::NAMESPACE,
    testbed,
    wait::{self, found_if},
};

/// How long the jobs count.
const SECONDS: u32 = 90;

/// Heals the cluster when the test ends, however it ends.
struct Cut(String);

impl Cut {
    fn new(cluster: &str) -> Cut {
        testbed::cut(cluster, stage().spec.agent_port).unwrap();
        Cut(cluster.to_owned())
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        if let Err(problem) = testbed::heal(&self.0) {
            eprintln!("{} could not be healed: {problem:#}", self.0);
        }
    }
}

/// A job that runs, and the cluster where it does.
fn running(name: &'static str, more: &[&str]) -> (String, String) {
    let stage = stage();
    let id = stage.submit(&Job::counting(name, SECONDS), more).unwrap();
    stage.wait_log(&id, "line 3\n").unwrap();
    let cluster = text(&stage.detail(&id).unwrap()["job"]["cluster"]).to_owned();
    (id, cluster)
}

fn other(cluster: &str) -> String {
    let clusters = &stage().spec.clusters;
    clusters.iter().find(|name| *name != cluster).unwrap().clone()
}

fn attempts(id: &str) -> Vec<Value> {
    stage().detail(id).unwrap()["attempts"].as_array().cloned().unwrap_or_default()
}

/// Waits for attempt 2 and shows that it began after everything of attempt 1 had ended.
fn assert_no_overlap(id: &str, lost_at: Instant, first: &Witness, second: &Witness) {
    wait::until("the second attempt's containers to start", PATIENCE, || {
        Ok(found_if(
            first_start(&second.runs()?).is_some(),
            stage().detail(id)?["job"]["sentence"].to_string(),
        ))
    })
    .unwrap();
    let took = lost_at.elapsed();
    wait::until("the ends of the first attempt's containers", PATIENCE, || {
        let runs = first.runs()?;
        Ok(found_if(last_end(&runs).is_some(), format!("{runs:?}")))
    })
    .unwrap();
    let (before, after) = (first.runs().unwrap(), second.runs().unwrap());
    let (ended, began) = (last_end(&before).unwrap(), first_start(&after).unwrap());
    println!(
        "{} containers of attempt 1 ended by {ended}; attempt 2 began at {began}, {} s after the loss",
        before.len(),
        took.as_secs()
    );
    assert!(before.iter().all(|run| run.attempt == "1") && after.iter().all(|run| run.attempt == "2"));
    assert!(ended < began, "two copies ran: {before:?} {after:?}");
}

fn assert_done_elsewhere(id: &str, cluster: &str) {
    stage().wait_job(id, "succeeded").unwrap();
    let attempts = attempts(id);
    let seen: Vec<(&str, &str)> =
        attempts.iter().map(|one| (text(&one["cluster"]), text(&one["state"]))).collect();
    assert_eq!(seen, [(cluster, "lost"), (other(cluster).as_str(), "succeeded")]);
    assert_eq!(text(&attempts[0]["proof"]), "lease_ended");
}

#[test]
fn fenced_job_of_a_cut_cluster_starts_elsewhere_after_its_first_copy_stopped_and_a_waiting_one_stays() {
    let stage = stage();
    let (fenced, cluster) = running("lost-fence", &["--on-lost", "fence"]);
    let (waits, _) = running("lost-wait", &["--on-lost", "wait", "--cluster", &cluster]);
    let first = stage.witness(&cluster, &fenced).unwrap();
    let stays = stage.witness(&cluster, &waits).unwrap();
    let second = stage.witness(&other(&cluster), &fenced).unwrap();
    let lost_at = Instant::now();
    let cut = Cut::new(&cluster);
    wait::until("the job to say what follows", PATIENCE, || {
        let sentence = stage.detail(&fenced)?["job"]["sentence"].to_string();
        let told = ["policy fence", "starts elsewhere at"].iter().all(|part| sentence.contains(part));
        Ok(found_if(told, sentence))
    })
    .unwrap();
    assert_no_overlap(&fenced, lost_at, &first, &second);
    let row = stage.detail(&waits).unwrap();
    assert_eq!(row["attempts"].as_array().unwrap().len(), 1);
    assert!(text(&row["job"]["sentence"]).contains("policy wait"), "{}", row["job"]["sentence"]);
    assert_eq!(last_end(&stays.runs().unwrap()), None, "it runs on behind the cut");
    drop(cut);
    stage.wait_for_state(&cluster, &["active"]).unwrap();
    assert_done_elsewhere(&fenced, &cluster);
    stage.wait_job(&waits, "succeeded").unwrap();
    assert_eq!(attempts(&waits).len(), 1);
}

#[test]
fn fencer_stops_a_fenced_job_when_the_agent_is_dead() {
    let stage = stage();
    let (fenced, cluster) = running("lost-fencer", &["--on-lost", "fence"]);
    let first = stage.witness(&cluster, &fenced).unwrap();
    let second = stage.witness(&other(&cluster), &fenced).unwrap();
    let lost_at = Instant::now();
    let cut = Cut::new(&cluster);
    stage.signal_agent(&cluster, "KILL").unwrap();
    stage.scale_agent(&cluster, 0).unwrap();
    assert_no_overlap(&fenced, lost_at, &first, &second);
    let lease = ["-n", NAMESPACE, "get", "lease", "squadron-fencer", "-o", "json"];
    let lease: Value = serde_json::from_str(&stage.kubectl(&cluster, &lease).unwrap()).unwrap();
    let noted = text(&lease["metadata"]["annotations"]["squadron.dev/fencer-stopped"]).to_owned();
    assert!(noted.contains(&fenced), "the fencer noted what it stopped: {noted}");
    stage.scale_agent(&cluster, 1).unwrap();
    drop(cut);
    stage.wait_for_state(&cluster, &["active"]).unwrap();
    assert_done_elsewhere(&fenced, &cluster);
}
