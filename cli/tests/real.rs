//! Every verb against a real control plane with a real Postgres. No cluster: jobs wait, and say why.

#![allow(clippy::unwrap_used)]

mod fleet;

use std::{os::unix::fs::PermissionsExt, process::Stdio, time::Duration};

use fleet::{Fleet, Ran};

/// One control plane for all steps, because starting one takes longer than all of them.
#[test]
fn commands_work_against_a_real_control_plane() {
    let mut fleet = Fleet::start();
    std::fs::write(fleet.path("train.yaml"), include_str!("rayjob.yaml")).unwrap();
    std::fs::write(fleet.path("prices.yaml"), include_str!("prices.yaml")).unwrap();
    trust_and_tokens(&fleet);
    queues(&fleet);
    let id = submission(&fleet);
    looking_at_a_waiting_job(&fleet, &id);
    refusals(&fleet);
    clusters(&fleet);
    money(&fleet);
    submission_outlives_a_killed_server(&mut fleet);
    cancelling(&fleet);
    sweep(&fleet);
}

/// Many documents of one file are one submission: all of them or none.
fn sweep(fleet: &Fleet) {
    let one = include_str!("rayjob.yaml");
    let named = |n: usize| one.replacen("name: train", &format!("name: sweep-{n}"), 1);
    let all: Vec<String> = (0..3).map(named).collect();
    std::fs::write(fleet.path("sweep.yaml"), all.join("\n---\n")).unwrap();
    let listed = || fleet.expect(0, &["list", "-o", "name"]).out.lines().count();
    let before = listed();
    let words = ["submit", "sweep.yaml", "-q", "research", "--idempotency-key", "sweep"];
    assert!(fleet.expect(3, &["submit", "sweep.yaml", "-q", "nothing"]).err.contains("jobs[0]"));
    assert_eq!(listed(), before);
    let told = fleet.expect(0, &words).out;
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines.len() == 3 && lines[2].starts_with("submitted sweep-2 as 0"), "{told}");
    let again = fleet.expect(0, &words).out;
    assert!(again.starts_with("sweep-0 was submitted before as 0"), "{again}");
    assert_eq!(listed(), before + 3);
    assert!(fleet.expect(2, &["submit", "sweep.yaml", "--wait"]).err.contains("only one can be waited for"));
}

fn trust_and_tokens(fleet: &Fleet) {
    let ca = fleet.path("data/tls/ca.crt");
    let token = fleet.path("data/admin.token");
    let mut login = fleet.command(&["login", "--name", "here"]);
    let ran = Ran::of(&login.output().unwrap());
    assert!(ran.code == 0 && ran.err.contains("saved as context here"), "{}", ran.err);
    let saved = std::fs::read_to_string(fleet.path("config.yaml")).unwrap();
    assert!(saved.contains(ca.to_str().unwrap()) && saved.contains(token.to_str().unwrap()), "{saved}");
    let mut by_context = fleet.command(&["list"]);
    let ran = Ran::of(
        &by_context
            .env_remove("SQUADRON_SERVER")
            .env_remove("SQUADRON_CA")
            .env_remove("SQUADRON_TOKEN_FILE")
            .output()
            .unwrap(),
    );
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);

    let ran = Ran::of(
        &fleet.command(&["list"]).env_remove("SQUADRON_CA").env("SQUADRON_CONFIG", "/none").output().unwrap(),
    );
    assert!(ran.code == 4 && ran.err.contains("is not trusted"), "{}", ran.err);

    let secret = fleet.expect(0, &["token", "add", "vera", "--role", "viewer"]).out;
    std::fs::write(fleet.path("viewer"), secret).unwrap();
    std::fs::set_permissions(fleet.path("viewer"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let as_viewer = |words: &[&str]| {
        Ran::of(&fleet.command(words).env("SQUADRON_TOKEN_FILE", fleet.path("viewer")).output().unwrap())
    };
    assert_eq!(as_viewer(&["list"]).code, 0);
    let denied = as_viewer(&["queue", "add", "mine"]);
    assert!(denied.code == 4 && denied.err.contains("request "), "{}", denied.err);
    let unknown = Ran::of(
        &fleet
            .command(&["list"])
            .env_remove("SQUADRON_TOKEN_FILE")
            .env("SQUADRON_TOKEN", "sqd_wrong")
            .output()
            .unwrap(),
    );
    assert!(unknown.code == 4 && unknown.err.contains("SQD-1001"), "{}", unknown.err);
}

fn queues(fleet: &Fleet) {
    fleet.expect(0, &["queue", "add", "research"]);
    fleet.expect(5, &["queue", "add", "research"]);
    let names = fleet.expect(0, &["queues", "-o", "name"]).out;
    assert!(names.lines().any(|name| name == "research"), "{names}");
}

fn submission(fleet: &Fleet) -> String {
    let dry = fleet.expect(0, &["submit", "train.yaml", "-q", "research", "--dry-run"]);
    assert!(dry.out.contains("the server would accept it"), "{}", dry.out);
    assert_eq!(fleet.expect(0, &["list", "-o", "name"]).out, "");

    let words = ["submit", "train.yaml", "-q", "research", "--idempotency-key", "once", "-o", "json"];
    let id = |ran: Ran| {
        serde_json::from_str::<serde_json::Value>(&ran.out).unwrap()["job"]["id"].as_str().unwrap().to_owned()
    };
    let first = id(fleet.expect(0, &words));
    assert_eq!(id(fleet.expect(0, &words)), first);
    let other = ["submit", "train.yaml", "-q", "default", "--idempotency-key", "once"];
    assert!(fleet.expect(5, &other).err.contains("SQD-1204"));
    assert_eq!(fleet.expect(0, &["list", "-o", "name"]).out, format!("{first}\n"));
    first
}

fn looking_at_a_waiting_job(fleet: &Fleet, id: &str) {
    // The dispatcher writes its reason a moment after the submission.
    let why = fleet.soon(&["why", "train"], |ran| ran.out.contains("NO_CLUSTER"));
    assert!(why.out.starts_with("job train is queued in research"), "{}", why.out);
    assert!(why.out.contains("wait  never as things are: no cluster is accepted yet"), "{}", why.out);
    for line in [vec!["where", "train"], vec!["where", "-f", "train.yaml", "-q", "research"]] {
        let found = fleet.expect(0, &line).out;
        assert!(
            found.starts_with("train in research asks for") && found.contains("it would wait"),
            "{found}"
        );
    }
    let history = fleet.expect(0, &["why", id, "--history"]).out;
    assert!(history.starts_with("1  2") && history.contains("blocked  NO_CLUSTER"), "{history}");
    assert!(fleet.expect(0, &["queue", "waiting", "research"]).out.contains(id));
    fleet.expect(3, &["queue", "waiting", "nothing"]);
    let page = fleet.expect(0, &["describe", id]).out;
    assert!(page.starts_with("train  queued") && page.contains("Timeline") && page.contains(id), "{page}");
    let list = fleet.expect(0, &["list", "--status", "queued", "--owner", "@me", "--queue", "research"]).out;
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(fleet.expect(0, &["list", "--status", "running"]).err.contains("no job matches"));
    let logs = fleet.expect(0, &["logs", "train"]);
    assert!(logs.out.is_empty() && logs.err.contains("has written nothing yet"), "{}", logs.err);
    assert!(fleet.expect(6, &["wait", "train", "--timeout", "1"]).err.contains("it goes on"));
}

fn refusals(fleet: &Fleet) {
    assert!(fleet.expect(0, &[]).out.contains("Usage: squadron [OPTIONS] <COMMAND>"));
    let unknown = fleet.expect(3, &["submit", "train.yaml", "-q", "reserach"]);
    assert!(unknown.err.contains("research") && unknown.err.contains("SQD-1203"), "{}", unknown.err);
    assert!(fleet.expect(3, &["describe", "nothing"]).err.contains("next: "));
    fleet.expect(3, &["incidents", "show", "0193a5a0-0000-7000-8000-0000000000e1"]);
    assert!(fleet.expect(0, &["incidents"]).err.contains("no open incidents"));
}

fn clusters(fleet: &Fleet) {
    let added = fleet.expect(0, &["cluster", "add", "east"]);
    assert!(
        added.out.contains("helm") && added.err.contains("cluster accept east"),
        "{}{}",
        added.out,
        added.err
    );
    let shown = fleet.expect(0, &["cluster", "show", "east"]).out;
    assert!(shown.starts_with("east  invited"), "{shown}");
    let early = fleet.expect(5, &["cluster", "accept", "east", "--yes"]);
    assert!(early.err.contains("SQD-1402"), "{}", early.err);
    assert!(fleet.expect(0, &["doctor"]).out.contains("warn  cluster"));
}

fn money(fleet: &Fleet) {
    fleet.expect(3, &["prices", "show"]);
    fleet.expect(0, &["prices", "apply", "-f", "prices.yaml", "--dry-run"]);
    fleet.expect(3, &["prices", "show"]);
    fleet.expect(0, &["prices", "apply", "-f", "prices.yaml"]);
    assert_eq!(fleet.expect(0, &["prices", "show"]).out, include_str!("prices.yaml"));
    let usage = fleet.expect(0, &["usage", "--by", "team,job"]).out;
    assert!(usage.contains("amounts in EUR") && usage.contains("total"), "{usage}");
}

/// The command keeps sending while the server is away; the job exists once when it is back.
fn submission_outlives_a_killed_server(fleet: &mut Fleet) {
    let before = fleet.expect(0, &["list", "--all", "-o", "name"]).out.lines().count();
    fleet.kill();
    let submit = fleet
        .command(&["submit", "train.yaml", "-q", "research"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    fleet.boot();
    fleet.wait_until_up();
    let ran = Ran::of(&submit.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(fleet.expect(0, &["list", "--all", "-o", "name"]).out.lines().count(), before + 1);
}

fn cancelling(fleet: &Fleet) {
    let asked = fleet.expect(2, &["cancel", "train"]);
    assert!(asked.err.contains("--yes"), "{}", asked.err);
    fleet.expect(0, &["cancel", "train", "--yes", "--wait", "--reason", "done with it"]);
    // Two jobs carry the name by now, so what to type next names the job by its id.
    let newest = fleet.expect(0, &["list", "-o", "name"]).out.lines().next().unwrap().to_owned();
    let ended = fleet.expect(11, &["wait", "train"]).err;
    assert!(ended.contains(&format!("read on: squadron describe {newest}")), "{ended}");
    let audit = fleet.expect(0, &["audit"]).out;
    assert!(audit.contains("job.cancel") && audit.contains("done with it"), "{audit}");
}

impl Fleet {
    /// Repeats a command until what it printed is as wished.
    fn soon(&self, words: &[&str], wished: impl Fn(&Ran) -> bool) -> Ran {
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        loop {
            let ran = self.expect(0, words);
            if wished(&ran) {
                return ran;
            }
            assert!(
                std::time::Instant::now() < deadline,
                "squadron {}: {}{}",
                words.join(" "),
                ran.out,
                ran.err
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
