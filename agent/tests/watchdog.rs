//! Watchdog: real processes and real sockets. The agent's desk is in this process, the watchdog and its job are others.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use squadron_agent::watchdog::{desk, run::OVER, word::Secret};
use squadron_core::id::AttemptId;
use tokio::{net::UdpSocket, task::JoinHandle};

/// What the desk promises with each answer.
const LEFT: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_millis(500);
/// How long a process of a busy machine may take to do what is due.
const SLACK: Duration = Duration::from_secs(2);
const DEADLINE: Duration = Duration::from_secs(20);
/// Ignores the request to end, and writes down that it lives.
const STUBBORN: &str =
    "trap '' TERM; echo $$ > pid; touch started; while :; do echo x >> beats; sleep 0.02; done";

fn attempt() -> AttemptId {
    AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 3 }
}

/// An agent that answers.
struct Agent {
    task: JoinHandle<()>,
    /// Questions so far.
    asked: Arc<AtomicU64>,
}

impl Agent {
    fn serve(socket: UdpSocket, secret: &Secret, left: Arc<AtomicU64>) -> Agent {
        let (secret, asked) = (secret.clone(), Arc::new(AtomicU64::new(0)));
        let count = asked.clone();
        let book = move |of| {
            count.fetch_add(1, Ordering::Relaxed);
            (of == attempt()).then(|| (secret.clone(), left.load(Ordering::Relaxed)))
        };
        Agent { task: tokio::spawn(desk::answer(socket, book)), asked }
    }

    /// Until it was asked so often again.
    async fn is_asked(&self, times: u64) {
        let before = self.asked.load(Ordering::Relaxed);
        until("the watchdog asks", || self.asked.load(Ordering::Relaxed) >= before + times).await;
    }
}

/// One with a socket of its own, and the address where it answers.
async fn agent(secret: &Secret, left: Arc<AtomicU64>) -> (Agent, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (Agent::serve(socket, secret, left), address)
}

fn promises(left: Duration) -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(u64::try_from(left.as_millis()).unwrap()))
}

/// A watchdog that runs `script` in `folder`, by the program that it installs there.
fn watchdog(folder: &Path, address: &str, secret: &Secret, script: &str) -> Child {
    let place = folder.join("installed");
    let installed = Command::new(env!("CARGO_BIN_EXE_squadron-agent"))
        .args(["watchdog", "install"])
        .arg(&place)
        .status()
        .unwrap();
    assert!(installed.success());
    Command::new(place.join("watchdog"))
        .current_dir(folder)
        .args(["--grace", &GRACE.as_millis().to_string(), "--", "/bin/sh", "-c", script])
        .env("SQUADRON_WATCHDOG_ADDRESS", address)
        .env("SQUADRON_WATCHDOG_SECRET", secret.text())
        .env("SQUADRON_JOB_ID", attempt().job.to_string())
        .env("SQUADRON_ATTEMPT", attempt().number.to_string())
        .spawn()
        .unwrap()
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < DEADLINE, "{what} did not come true");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn end(child: &mut Child) -> Option<i32> {
    let mut status = None;
    until("the end of the watchdog", || {
        status = child.try_wait().unwrap();
        status.is_some()
    })
    .await;
    status.unwrap().code()
}

fn beats(folder: &Path) -> u64 {
    fs::metadata(folder.join("beats")).map_or(0, |file| file.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn t5_the_job_waits_for_the_first_promise_and_dies_with_the_last_when_everything_is_cut() {
    let (folder, secret) = (tempfile::tempdir().unwrap(), Secret::draw());
    let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = deaf.local_addr().unwrap().to_string();
    let mut child = watchdog(folder.path(), &address, &secret, STUBBORN);
    for _ in 0..3 {
        tokio::time::timeout(DEADLINE, deaf.recv(&mut [0; 1_024])).await.unwrap().unwrap();
    }
    assert!(!folder.path().join("started").exists(), "nobody has promised anything");
    let agent = Agent::serve(deaf, &secret, promises(LEFT));
    until("the job starts", || folder.path().join("started").exists()).await;
    let promised = Instant::now();
    while promised.elapsed() < LEFT * 2 {
        agent.is_asked(1).await;
    }
    assert_eq!(child.try_wait().unwrap(), None, "it is promised more again and again");
    agent.task.abort();
    let (cut, lived) = (Instant::now(), beats(folder.path()));
    until("the job goes on behind the cut", || beats(folder.path()) > lived).await;
    assert_eq!(end(&mut child).await, Some(i32::from(OVER)));
    assert!(cut.elapsed() < LEFT + GRACE + SLACK, "it ran on for {:?} behind the cut", cut.elapsed());
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap().trim().parse().unwrap();
    until("the stubborn job is gone", || kill(Pid::from_raw(pid), None).is_err()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_but_the_agent_can_promise_and_no_time_is_no_promise() {
    let (folder, secret) = (tempfile::tempdir().unwrap(), Secret::draw());
    let left = promises(Duration::ZERO);
    let (agent_itself, at_the_agent) = agent(&secret, left.clone()).await;
    let (liar, at_a_liar) = agent(&Secret::draw(), promises(DEADLINE)).await;
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    for place in [&one, &other] {
        fs::create_dir(place).unwrap();
    }
    let mut behind_a_liar = watchdog(&one, &at_a_liar, &secret, STUBBORN);
    let mut unpromised = watchdog(&other, &at_the_agent, &secret, STUBBORN);
    tokio::join!(agent_itself.is_asked(3), liar.is_asked(3));
    assert!(!one.join("started").exists() && !other.join("started").exists());
    behind_a_liar.kill().unwrap();
    behind_a_liar.wait().unwrap();
    left.store(1_000, Ordering::Relaxed);
    until("the job starts", || other.join("started").exists()).await;
    left.store(0, Ordering::Relaxed);
    assert_eq!(end(&mut unpromised).await, Some(i32::from(OVER)), "the agent promises no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_or_is_asked_to_end_does_so_by_its_own_code() {
    let (folder, secret) = (tempfile::tempdir().unwrap(), Secret::draw());
    let (_agent, address) = agent(&secret, promises(Duration::from_secs(60))).await;
    let mut ends =
        watchdog(folder.path(), &address, &secret, "test -z \"$SQUADRON_WATCHDOG_SECRET\" && exit 7");
    assert_eq!(end(&mut ends).await, Some(7), "and it does not know the secret");
    let mut asked = watchdog(
        folder.path(),
        &address,
        &secret,
        "trap 'exit 9' TERM; touch up; while :; do sleep 0.02; done",
    );
    until("the job runs", || folder.path().join("up").exists()).await;
    kill(Pid::from_raw(i32::try_from(asked.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(end(&mut asked).await, Some(9));
}
