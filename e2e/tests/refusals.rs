//! What goes wrong is said in one sentence with the next step, by command line, API and console alike, and changes nothing else.

#![allow(clippy::unwrap_used)]

mod common;

use common::{stage, text};
use serde_json::{Value, json};
use squadron_e2e::{
    command::{self, Ran},
    console::Told,
    job::{self, Job, PATIENCE},
    stage::Stage,
    wait::{self, Look},
};

/// A refusal names the problem and what to do next.
fn refused(ran: &Ran, code: i32, about: &str) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert!(ran.stderr.contains(about), "{about:?} is not in: {}", ran.stderr);
    assert!(ran.stderr.lines().count() >= 2, "no next step in: {}", ran.stderr);
}

/// The API's answer to what `curl` is told to send.
fn ask(stage: &Stage, token: &str, send: &[&str], path: &str) -> Value {
    let mut curl = command::new("curl");
    curl.arg("-sS").arg("--cacert").arg(stage.data().join("tls/ca.crt"));
    curl.args(["-H", &format!("authorization: Bearer {token}")]).args(send);
    curl.arg(format!("{}{path}", stage.server()));
    serde_json::from_str(&command::output(&mut curl).unwrap()).unwrap()
}

/// The API's answer to a JSON body.
fn post(stage: &Stage, token: &str, path: &str, body: &Value) -> Value {
    ask(stage, token, &["-H", "content-type: application/json", "-d", &body.to_string()], path)
}

fn jobs(stage: &Stage) -> usize {
    stage.json(&["list", "--limit", "500"]).unwrap()["items"].as_array().unwrap().len()
}

#[test]
fn typo_in_a_field_is_named_by_its_path() {
    let stage = stage();
    let before = jobs(stage);
    let mut manifest = Job::counting("refused-typo", 1).manifest();
    let spec = &mut manifest["spec"]["rayClusterSpec"]["headGroupSpec"];
    spec["rayStartParms"] = spec["rayStartParams"].clone();
    let file = job::write("refused-typo", &manifest.to_string()).unwrap().to_string_lossy().into_owned();
    for dry_run in ["--dry-run=client", "--dry-run=server"] {
        refused(&stage.squadron(&["submit", &file, dry_run]).unwrap(), 2, "rayStartParms");
    }
    let body = json!({"manifest": manifest.to_string(), "queue": "default"});
    let problem = post(stage, &stage.token().unwrap(), "/api/v1/jobs", &body);
    assert_eq!((text(&problem["code"]), problem["status"].as_u64()), ("SQD-1201", Some(422)), "{problem}");
    assert!(problem["fields"][0]["path"].as_str().unwrap().contains("rayStartParms"), "{problem}");
    assert_ne!(text(&problem["next_step"]), "");
    assert_eq!(jobs(stage), before);
}

#[test]
fn unknown_queue_lists_those_there_are() {
    let stage = stage();
    let before = jobs(stage);
    let file = Job::counting("refused-queue", 1).file().unwrap().to_string_lossy().into_owned();
    let ran = stage.squadron(&["submit", &file, "-q", "defalt"]).unwrap();
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("default"), "{}", ran.stderr);
    assert!(ran.stderr.contains("SQD-1203"), "{}", ran.stderr);
    assert_eq!(jobs(stage), before);
}

#[test]
fn job_too_big_for_every_cluster_says_so_and_waits() {
    let stage = stage();
    let job = Job { worker_cpu: "900", ..Job::counting("refused-big", 1) };
    let id = stage.submit(&job, &[]).unwrap();
    let why = wait::until("the dispatcher's word", PATIENCE, || {
        let why = stage.json(&["why", &id])?;
        let codes: Vec<_> = why["blockers"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| text(&one["code"]).to_owned())
            .collect();
        Ok(if codes.iter().any(|code| code == "TOO_BIG") {
            Look::Found(why)
        } else {
            Look::NotYet(format!("{codes:?}"))
        })
    })
    .unwrap();
    assert!(
        why["blockers"].as_array().unwrap().iter().any(|one| !text(&one["try_this"]).is_empty()),
        "{why}"
    );
    assert_eq!(stage.detail(&id).unwrap()["job"]["state"], "queued");
    stage.console_tells(Told::Job, &id).unwrap();
    stage.squadron(&["cancel", &id, "--yes"]).unwrap().ok().unwrap();
    stage.wait_job(&id, "cancelled").unwrap();
}

#[test]
fn price_sheet_with_a_gap_or_an_overlap_is_refused_and_the_old_one_stays() {
    let stage = stage();
    stage.squadron(&["prices", "apply", "-f", "demo/prices.yaml"]).unwrap().ok().unwrap();
    let before = stage.squadron(&["prices", "show"]).unwrap().ok().unwrap();
    let price = |from: &str, to: &str| {
        let to = if to.is_empty() { String::new() } else { format!("to: {to}, ") };
        format!("- {{cluster: '*', from: {from}, {to}cpu_hour: 1, memory_gib_hour: 0, gpu_hour: 0}}\n")
    };
    for (word, first_ends, second_begins) in
        [("gap", "2026-02-01", "2026-03-01"), ("overlap", "2026-03-01", "2026-02-01")]
    {
        let prices = price("2026-01-01", first_ends) + &price(second_begins, "");
        let sheet = format!("name: default\ncurrency: EUR\nprices:\n{prices}");
        let file = job::write(word, &sheet).unwrap().to_string_lossy().into_owned();
        let ran = stage.squadron(&["prices", "apply", "-f", &file]).unwrap();
        refused(&ran, 2, word);
        let problem =
            ask(stage, &stage.token().unwrap(), &["-X", "PUT", "-d", &sheet], "/api/v1/price-sheets");
        assert_eq!(problem["code"], "SQD-1301", "{problem}");
        assert!(text(&problem["fields"][0]["problem"]).contains(word), "{problem}");
    }
    assert_eq!(stage.squadron(&["prices", "show"]).unwrap().ok().unwrap(), before);
}

#[test]
fn ended_token_opens_nothing_and_says_what_to_do() {
    let stage = stage();
    let token = stage
        .squadron(&["token", "add", "ended", "--role", "admin"])
        .unwrap()
        .ok()
        .unwrap()
        .trim()
        .to_owned();
    stage.sql("update api_token set expires_at = now() - interval '1 hour' where subject = 'ended'").unwrap();
    let ran = command::capture(stage.cli().unwrap().env("SQUADRON_TOKEN", &token).arg("list")).unwrap();
    refused(&ran, 4, "SQD-1001");
    let problem = post(stage, &token, "/api/v1/queues", &json!({"name": "never"}));
    assert_eq!(problem["code"], "SQD-1001", "{problem}");
    stage.console_tells(Told::Token, &token).unwrap();
    let queues = stage.squadron(&["queue", "list", "-o", "name"]).unwrap().ok().unwrap();
    assert!(!queues.contains("never"), "{queues}");
}

#[test]
fn image_that_cannot_be_pulled_is_named_while_the_job_waits_for_it() {
    let stage = stage();
    let job = Job { image: "rayproject/no-such-image:1", ..Job::counting("refused-image", 1) };
    let id = stage.submit(&job, &[]).unwrap();
    wait::until("the job's sentence to name the image", PATIENCE, || {
        let detail = stage.detail(&id)?;
        let sentence = text(&detail["job"]["sentence"]).to_owned();
        Ok(wait::found_if(sentence.contains("rayproject/no-such-image:1"), sentence))
    })
    .unwrap();
    stage.console_tells(Told::Job, &id).unwrap();
    stage.squadron(&["cancel", &id, "--yes"]).unwrap().ok().unwrap();
    let ended = stage.wait_job(&id, "cancelled").unwrap();
    stage.wait_pods_gone(text(&ended["job"]["cluster"]), &id).unwrap();
}

#[test]
fn raycluster_deleted_under_a_job_ends_in_one_sentence() {
    let stage = stage();
    let id = stage.submit(&Job::counting("refused-deleted", 300), &[]).unwrap();
    stage.wait_log(&id, "line 2").unwrap();
    let cluster = text(&stage.detail(&id).unwrap()["job"]["cluster"]).to_owned();
    let selector = format!("squadron.dev/job-id={id}");
    stage.kubectl(&cluster, &["delete", "raycluster", "-A", "-l", &selector, "--wait=false"]).unwrap();
    let ended = stage.wait_job(&id, "failed").unwrap();
    assert_eq!(ended["attempts"].as_array().unwrap().len(), 1);
    assert_ne!(text(&ended["job"]["sentence"]), "");
    assert_ne!(text(&ended["job"]["reason"]), "");
    stage.console_tells(Told::Job, &id).unwrap();
}

/// Who acts for the cluster, as stored: epoch and pod.
fn in_charge(stage: &Stage, cluster: &str) -> Vec<String> {
    let query = format!("select agent_epoch || ' ' || agent_pod_uid from cluster where name = '{cluster}'");
    stage.sql(&query).unwrap()
}

/// The alarm of the cluster as the API tells it.
fn alarm(stage: &Stage, cluster: &str) -> String {
    let path = format!("/api/v1/clusters/{cluster}");
    text(&ask(stage, &stage.token().unwrap(), &[], &path)["alarm"]).to_owned()
}

#[test]
fn second_agent_of_a_cluster_is_refused_and_the_first_goes_on() {
    let stage = stage();
    let cluster = stage.spec.clusters[1].clone();
    let id = stage.submit(&Job::counting("refused-second", 60), &["--cluster", &cluster]).unwrap();
    stage.wait_log(&id, "line 2\n").unwrap();
    let before = (in_charge(stage, &cluster), jobs(stage));

    let second = stage.second_agent(&cluster).unwrap();
    let told = wait::until("the alarm about a second agent", PATIENCE, || {
        let told = alarm(stage, &cluster);
        let pod = second.pod_uid()?;
        let is_told = !pod.trim().is_empty() && told.contains(&format!("a second agent (pod {}", pod.trim()));
        Ok(if is_told { Look::Found(told) } else { Look::NotYet(told) })
    })
    .unwrap();
    let next_step = format!("squadron cluster clear-alarm {cluster}");
    assert!(told.contains("it was refused and nothing changed") && told.contains(&next_step), "{told}");
    let shown = stage.squadron(&["cluster", "show", &cluster]).unwrap().ok().unwrap();
    let unwrapped = |shown: &str| shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped(&shown).contains(&format!("alarm: {told}")), "{shown}");
    wait::until("the second agent to say why it was refused", PATIENCE, || {
        let log = second.log()?;
        Ok(wait::found_if(log.contains(&told), log))
    })
    .unwrap();

    // The whole log comes from the first agent: the control plane takes records of no other.
    let ended = stage.wait_job(&id, "succeeded").unwrap();
    assert_eq!(ended["attempts"].as_array().unwrap().len(), 1, "{ended}");
    stage.wait_log(&id, "line 60\n").unwrap();
    assert_eq!((in_charge(stage, &cluster), jobs(stage)), before);
    assert_eq!(stage.gaps(&cluster).unwrap(), Vec::<String>::new());

    second.remove().unwrap();
    stage.console_tells(Told::Alarm, &cluster).unwrap();
    assert_eq!(alarm(stage, &cluster), "");
    let shown = stage.squadron(&["cluster", "show", &cluster]).unwrap().ok().unwrap();
    assert!(!shown.contains("alarm"), "{shown}");
    assert_eq!(in_charge(stage, &cluster), before.0, "accepting again changes nobody's charge");
}
