//! The built command against a wire that breaks: what is repeated, what is not, and what scripts see of it.

#![allow(clippy::unwrap_used)]

mod flaky;

use std::process::{Command, Output, Stdio};

use flaky::{Flaky, Reply};

const MANIFEST: &str = include_str!("rayjob.yaml");

fn squadron(server: &Flaky) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squadron"));
    command
        .env_clear()
        .env("SQUADRON_SERVER", server.address())
        .env("SQUADRON_TOKEN", "sqd_secret")
        .env("SQUADRON_CONFIG", "/nonexistent/config.yaml");
    command
}

fn run(server: &Flaky, words: &[&str]) -> Output {
    squadron(server).args(words).output().unwrap()
}

fn submit(server: &Flaky) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.yaml");
    std::fs::write(&file, MANIFEST).unwrap();
    run(server, &["submit", file.to_str().unwrap(), "-q", "research"])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn job_json(state: &str, attempt_ended: bool) -> String {
    let ended = if attempt_ended { "\"2026-11-30T00:02:00Z\"" } else { "null" };
    format!(
        r#"{{"job":{job},"manifest":"","timeline":[],"pods":[],"why":null,"incidents":[],"cost":null,"attempts":[{{
        "number":1,"cluster":"east","state":"{state}","object":"train","chosen_because":"","ended_because":"",
        "assigned_at":"2026-11-30T00:00:00Z","running_at":null,"ended_at":{ended}}}]}}"#,
        job = job(state),
    )
}

fn job(state: &str) -> String {
    format!(
        r#"{{"id":"0193a5a0-0000-7000-8000-0000000000a1","name":"train","namespace":"default","queue":"research",
        "state":"{state}","reason":"","sentence":"","cluster":"east","attempt":1,"owner":"ada","requests":{{}},
        "submitted_at":"2026-11-30T00:00:00Z","started_at":null,"ended_at":null,"version":1,"stale_since":null}}"#
    )
}

#[test]
fn lost_answers_never_make_two_submissions() {
    let accepted = format!(r#"{{"job":{},"position":1,"link":"","warnings":[]}}"#, job("queued"));
    let server = Flaky::start(vec![Reply::Drop, Reply::Drop, Reply::json(200, &accepted)]);
    let output = submit(&server);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("submitted train as 0193a5a0"), "{}", text(&output.stdout));
    let keys: Vec<_> = server.requests().iter().map(|request| request.header("idempotency-key")).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[test]
fn refusal_is_said_once_with_code_and_request() {
    let problem = r#"{"code":"SQD-1203","status":422,"detail":"queue \"reserach\" does not exist",
        "next_step":"did you mean research?","request_id":"req-7"}"#;
    let server = Flaky::start(vec![Reply::json(422, problem)]);
    let output = submit(&server);
    assert_eq!((output.status.code(), server.requests().len()), (Some(3), 1));
    assert_eq!(
        text(&output.stderr),
        "error: queue \"reserach\" does not exist\n  next: did you mean research?\n  SQD-1203, request req-7\n"
    );
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn request_that_would_do_a_second_thing_is_not_repeated() {
    let server = Flaky::start(vec![Reply::Drop]);
    let output = run(&server, &["queue", "add", "research"]);
    assert_eq!((output.status.code(), server.requests().len()), (Some(6), 1), "{}", text(&output.stderr));
}

#[test]
fn follower_resumes_at_the_byte_where_the_wire_broke() {
    let server = Flaky::start(vec![
        Reply::json(200, &job_json("running", false)),
        Reply::cut(&[("squadron-log-attempt", "1"), ("squadron-log-offset", "0")], b"first \xff half, ", 100),
        Reply::full(&[("squadron-log-attempt", "1"), ("squadron-log-offset", "14")], b"second half\n"),
        Reply::full(&[("squadron-log-attempt", "1"), ("squadron-log-offset", "26")], b""),
        Reply::json(200, &job_json("succeeded", true)),
    ]);
    let output = run(&server, &["logs", "-f", "train"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(output.stdout, b"first \xff half, second half\n");
    assert!(text(&output.stderr).contains("resuming at byte 14"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    assert!(server.requests()[2].line.contains("offset=14"), "{}", server.requests()[2].line);
}

#[test]
fn bytes_that_are_gone_are_counted_aloud() {
    let server = Flaky::start(vec![
        Reply::json(200, &job_json("succeeded", true)),
        Reply::full(&[("squadron-log-attempt", "1"), ("squadron-log-offset", "5")], b"rest\n"),
        Reply::full(&[("squadron-log-attempt", "1"), ("squadron-log-offset", "10")], b""),
    ]);
    let output = run(&server, &["logs", "train"]);
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("rest\n", Some(0)));
    assert_eq!(text(&output.stderr), "5 bytes at offset 0 are missing\n");
}

#[test]
fn answer_that_ends_at_a_hole_is_read_on_behind_it() {
    let gap = "9 bytes of the log are missing here: they never reached the control plane";
    let at = |offset| [("squadron-log-attempt", "1"), ("squadron-log-offset", offset)];
    let behind = [at("15").as_slice(), &[("squadron-log-gap", gap)]].concat();
    for follow in [false, true] {
        let mut script = vec![
            Reply::json(200, &job_json("succeeded", true)),
            Reply::full(&at("0"), b"first\n"),
            Reply::full(&behind, b"last\n"),
            Reply::full(&at("20"), b""),
        ];
        script.extend(follow.then(|| Reply::json(200, &job_json("succeeded", true))));
        let server = Flaky::start(script);
        let words = if follow { vec!["logs", "-f", "train"] } else { vec!["logs", "train"] };
        let output = run(&server, &words);
        assert_eq!((text(&output.stdout).as_str(), output.status.code()), ("first\nlast\n", Some(0)));
        assert_eq!(text(&output.stderr), format!("{gap}\n"));
        let offsets = [(2, "offset=6"), (3, "offset=20")];
        for (request, offset) in offsets {
            let line = &server.requests()[request].line;
            assert!(line.contains(offset) && !line.contains("follow"), "{line}");
        }
    }
}

#[test]
fn end_of_the_job_is_the_exit_code_of_wait() {
    for (state, code) in [("succeeded", 0), ("failed", 10), ("cancelled", 11)] {
        let answer = Reply::json(200, &job_json(state, true));
        let server = Flaky::start(vec![answer.clone(), answer]);
        assert_eq!(run(&server, &["wait", "train"]).status.code(), Some(code), "{state}");
    }
}

#[test]
fn reader_that_leaves_ends_the_command_in_silence() {
    let jobs = vec![job("running"); 2_000].join(",");
    let page = format!(
        r#"{{"items":[{jobs}],"next_page_token":null,"as_of":"2026-11-30T00:00:00Z","partial":null}}"#
    );
    let server = Flaky::start(vec![Reply::json(200, &page)]);
    let mut child =
        squadron(&server).arg("list").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn pipe_gets_no_colour_and_an_empty_list_is_no_error() {
    let page = |items: &str| {
        format!(
            r#"{{"items":[{items}],"next_page_token":null,"as_of":"2026-11-30T00:00:00Z","partial":null}}"#
        )
    };
    let server = Flaky::start(vec![Reply::json(200, &page(&job("failed"))), Reply::json(200, &page(""))]);
    let full = run(&server, &["list"]);
    assert!(text(&full.stdout).contains("failed") && !full.stdout.contains(&0x1b), "{}", text(&full.stdout));
    let empty = run(&server, &["list", "--status", "running"]);
    assert_eq!((empty.status.code(), text(&empty.stdout).as_str()), (Some(0), ""));
    assert_eq!(text(&empty.stderr), "no job matches\n");
}

#[test]
fn what_listens_but_is_not_squadron_is_told_apart() {
    let server = Flaky::start(vec![Reply::html(404, "<h1>nothing here</h1>")]);
    let output = run(&server, &["list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("answered 404 in a form that is not Squadron's"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn trace_shows_requests_and_no_secret() {
    let server = Flaky::start(vec![Reply::json(200, r#"{"subject":"ada","role":"admin"}"#)]);
    let output = run(&server, &["list", "--owner", "@me", "--debug"]);
    let trace = text(&output.stderr);
    assert!(
        trace.contains("> GET") && trace.contains("/api/v1/me") && !trace.contains("sqd_secret"),
        "{trace}"
    );
}

#[test]
fn typo_in_the_manifest_is_found_before_anything_is_sent() {
    let server = Flaky::start(vec![]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.yaml");
    std::fs::write(&file, MANIFEST.replace("entrypoint:", "entrypont:")).unwrap();
    let output = run(&server, &["submit", file.to_str().unwrap(), "-q", "research"]);
    assert_eq!((output.status.code(), server.requests().len()), (Some(2), 0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("spec.entrypont"), "{}", text(&output.stderr));
}
