//! Run: stands before a command in its container and ends it when nobody promises time any more.
//!
//! Owns the shell around [`core::lease::Watchdog`](squadron_core::lease::Watchdog). Invariants: the command is not started
//! before the first answer; when the last promise ends all of it is asked to end, and after the grace it is killed, whatever
//! it ignores and whoever can be reached. As the first process of its container this one takes every other with it when it
//! ends. Where it is not the first, a process that left the group of the command is not found.

use std::{
    net::SocketAddr,
    os::unix::process::CommandExt,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context;
use clap::Args;
use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getpid},
};
use squadron_core::{
    id::{AttemptId, JobId},
    lease::{Tick, Watchdog},
};
use tokio::{
    net::{UdpSocket, lookup_host},
    signal::unix::{SignalKind, signal},
    time::{sleep, timeout},
};

use super::word::{LONGEST, Question, Secret};
use crate::clock;

/// Environment of the container: the secret of the attempt. The command does not get it.
pub const SECRET: &str = "SQUADRON_WATCHDOG_SECRET";
/// Environment of the container: where the agent answers.
pub const ADDRESS: &str = "SQUADRON_WATCHDOG_ADDRESS";
/// What the process ends with when the promise was over.
pub const OVER: u8 = 75;
/// What it ends with when it was asked to end before the job began.
const TERMINATED: u8 = 128 + 15;
/// How often the clock is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// An answer that takes longer is not waited for.
const ANSWER: Duration = Duration::from_secs(1);
/// Between questions: a tenth of what is left, within these; the shortest while nobody answers.
const PAUSES: (u64, u64) = (500, 5_000);

/// Settings of the watchdog in a pod.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// Host and port where the agent answers.
    #[arg(long, env = ADDRESS)]
    pub address: String,
    /// Secret of the attempt.
    #[arg(long, env = SECRET, hide_env_values = true, value_parser = read_secret)]
    pub secret: Secret,
    #[arg(long, env = "SQUADRON_JOB_ID")]
    pub job: JobId,
    #[arg(long, env = "SQUADRON_ATTEMPT")]
    pub attempt: u32,
    /// Milliseconds from the request to end until the kill.
    #[arg(long, default_value_t = squadron_core::lease::Terms::default().grace)]
    pub grace: u64,
    /// What to run.
    #[arg(last = true, required = true)]
    pub command: Vec<String>,
}

fn read_secret(text: &str) -> Result<Secret, String> {
    Secret::read(text).ok_or_else(|| "it is no secret of 64 hexadecimal digits".to_owned())
}

/// Runs the command; answers with its code, or [`OVER`].
pub async fn run(args: RunArgs) -> anyhow::Result<u8> {
    let mut stop = signal(SignalKind::terminate()).context("cannot listen for signals")?;
    let watchdog = Arc::<Mutex<Watchdog>>::default();
    let attempt = AttemptId { job: args.job, number: args.attempt };
    let asker = Asker { watchdog: watchdog.clone(), attempt, address: args.address, secret: args.secret };
    tokio::spawn(asker.ask_for_ever());
    tracing::info!("the job starts when the agent of this cluster promises time for it");
    while !locked(&watchdog).allows(clock::tick()) {
        tokio::select! {
            _ = stop.recv() => return Ok(TERMINATED),
            () = sleep(LOOK) => {}
        }
    }
    let mut ward = Ward { group: start(&args.command)?, grace: args.grace, asked: None };
    loop {
        tokio::select! {
            _ = stop.recv() => all(ward.group, Signal::SIGTERM),
            () = sleep(LOOK) => {}
        }
        let ends = locked(&watchdog).ends().unwrap_or_default();
        if let Some(code) = ward.look(ends, clock::tick()) {
            all(ward.group, Signal::SIGKILL);
            return Ok(code);
        }
    }
}

/// The command that runs.
struct Ward {
    group: Pid,
    /// Milliseconds.
    grace: u64,
    /// The end of the promise for which it was asked to end; no later answer takes that back.
    asked: Option<Tick>,
}

impl Ward {
    /// What this process ends with, if it is time.
    fn look(&mut self, ends: Tick, now: Tick) -> Option<u8> {
        if let Some(code) = ended(self.group) {
            return Some(if self.asked.is_some() { OVER } else { code });
        }
        match self.asked {
            None if now >= ends => {
                tracing::error!(
                    "nobody renewed the lease of this cluster in time; the job is asked to end here"
                );
                all(self.group, Signal::SIGTERM);
                self.asked = Some(ends);
                None
            }
            Some(since) if now >= since.plus(self.grace) => Some(OVER),
            _ => None,
        }
    }
}

/// Starts the command in a group of its own.
fn start(command: &[String]) -> anyhow::Result<Pid> {
    let (program, words) = command.split_first().context("there is no command to run")?;
    let child = Command::new(program)
        .args(words)
        .env_remove(SECRET)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run {program}"))?;
    Ok(Pid::from_raw(i32::try_from(child.id()).context("its number is no process's")?))
}

/// Signals all that the command started. Who has ended meanwhile is no news.
fn all(group: Pid, signal: Signal) {
    let _gone = killpg(group, signal);
    if getpid().as_raw() == 1 {
        let _gone = kill(Pid::from_raw(-1), signal);
    }
}

/// Takes the ends of all children, adopted ones too; the code of the command if it is among them.
fn ended(command: Pid) -> Option<u8> {
    let mut code = None;
    loop {
        match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(who, said)) if who == command => code = u8::try_from(said).ok().or(Some(1)),
            Ok(WaitStatus::Signaled(who, signal, _)) if who == command => {
                code = u8::try_from(128 + signal as i32).ok().or(Some(1));
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return code,
            Ok(_) | Err(_) => {}
        }
    }
}

fn locked(watchdog: &Mutex<Watchdog>) -> MutexGuard<'_, Watchdog> {
    watchdog.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Asker {
    watchdog: Arc<Mutex<Watchdog>>,
    attempt: AttemptId,
    address: String,
    secret: Secret,
}

impl Asker {
    async fn ask_for_ever(self) {
        let mut known = None;
        loop {
            let number = locked(&self.watchdog).ask(clock::tick());
            let left = timeout(ANSWER, self.ask(&mut known)).await.ok().flatten();
            match left {
                Some(left) => locked(&self.watchdog).answered(number, left),
                // The agent may have moved.
                None => known = None,
            }
            let pause = (left.unwrap_or(0) / 10).clamp(PAUSES.0, PAUSES.1);
            sleep(Duration::from_millis(pause)).await;
        }
    }

    /// One question, from a port of its own, so that no way through the network is remembered for it.
    async fn ask(&self, known: &mut Option<SocketAddr>) -> Option<u64> {
        let to = match *known {
            Some(to) => to,
            None => lookup_host(self.address.as_str()).await.ok()?.next()?,
        };
        let from: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        let socket = UdpSocket::bind(from).await.ok()?;
        socket.connect(to).await.ok()?;
        let question = Question::new(self.attempt);
        socket.send(question.sealed(&self.secret).as_bytes()).await.ok()?;
        let mut buffer = [0; LONGEST];
        loop {
            let length = socket.recv(&mut buffer).await.ok()?;
            let said = buffer.get(..length).and_then(|said| std::str::from_utf8(said).ok());
            if let Some(left) = said.and_then(|said| question.left(said, &self.secret)) {
                *known = Some(to);
                return Some(left);
            }
        }
    }
}
