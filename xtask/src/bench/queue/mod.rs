//! A long queue: what people and the dispatcher wait for while very many jobs do.
//!
//! Owns the order of a run: a real control plane with a private Postgres of its own in a fresh folder, a fleet that is full and
//! jobs that wait for it, both put into the database in bulk, then calls through the real API one after another. Nothing else
//! is written by hand; classes and their reasons come from the dispatcher. The folder is removed at the end.

mod calls;
mod fill;

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use squadron_e2e::{
    command,
    daemon::Daemon,
    program::{self, Program},
    wait::{self, found_if},
};

use self::calls::{Api, Times};

const PORT: u16 = 8461;
const PATIENCE: Duration = Duration::from_secs(3_600);

/// How much is measured.
#[derive(clap::Args)]
pub struct Queue {
    /// Jobs that wait.
    #[arg(long, default_value_t = 1_000_000)]
    jobs: u32,
    /// Calls of each kind.
    #[arg(long, default_value_t = 1_000)]
    calls: u32,
    /// Take the program as it was built, instead of building it first.
    #[arg(long)]
    built: bool,
}

impl Queue {
    /// Measures and prints a table with the bars.
    pub fn run(&self) -> Result<()> {
        if !self.built {
            command::run(command::new("cargo").args(build_args()))?;
        }
        let folder = command::root().join("target/bench-queue");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
        }
        let plane = Daemon::new(&folder, "control-plane");
        let done = start(&plane, &folder).and_then(|()| self.measure(&plane, &folder));
        plane.stop()?;
        fs::remove_dir_all(&folder)?;
        done
    }

    fn measure(&self, plane: &Daemon, folder: &Path) -> Result<()> {
        let data = folder.join("data");
        fill::fleet(&data)?;
        let _heard = fill::Heard::keep(&data)?;
        fill::jobs(&data, self.jobs)?;
        let (api, begun) = (Api::new(&data, PORT, folder)?, Instant::now());
        wait::until("the dispatcher to have looked", PATIENCE, || {
            let why = api.get("/api/v1/jobs/bench-1/why")?;
            let looked = why.contains("CLUSTER_FULL") && !fill::has_stragglers(&data)?;
            Ok(found_if(looked, why))
        })?;
        println!("{} jobs have their classes after {:.0} s", self.jobs, begun.elapsed().as_secs_f64());
        fill::settle(&data)?;
        let seen = fs::read_to_string(plane.log_file())?.len();
        let mut rows = vec![("submit", "50 ms", api.submit(self.calls)?)];
        let jobs: Vec<String> = (0..self.calls).map(|n| format!("bench-{}", 1 + self.spread(n))).collect();
        let why = jobs.iter().map(|job| format!("/api/v1/jobs/{job}/why"));
        rows.push(("why", "100 ms", api.time(why)?));
        let lists =
            ["", "&status=queued", "&queue=q7", "&status=running", "&owner=u3", "&queue=q7&status=queued"];
        let list =
            (0..self.calls as usize).map(|n| format!("/api/v1/jobs?limit=100{}", lists[n % lists.len()]));
        rows.push(("list", "100 ms", api.time(list)?));
        let waiting =
            (0..self.calls).map(|n| format!("/api/v1/queues/waiting?limit=100&queue=q{}", 1 + n % 20));
        rows.push(("waiting list", "100 ms", api.time(waiting)?));
        let queues = (0..self.calls / 10).map(|_| "/api/v1/queues".to_owned());
        rows.push(("queues", "100 ms", api.time(queues)?));
        rows.push(("decision cycle", "1000 ms", cycles(plane, seen)?));
        print(self.jobs, &rows, resident_mib(plane)?);
        Ok(())
    }

    /// Numbers of jobs over the whole line.
    fn spread(&self, call: u32) -> u32 {
        let step = u64::from(call) * 7_919 * 101;
        u32::try_from(step % u64::from(self.jobs.max(1))).unwrap_or(0)
    }
}

fn build_args() -> Vec<&'static str> {
    let mut build = vec!["build", "--locked", "-p", "squadron-control-plane"];
    build.extend(program::is_release().then_some("--release"));
    build
}

fn start(plane: &Daemon, folder: &Path) -> Result<()> {
    let data = folder.join("data");
    let mut serve = command::new(Program::ControlPlane.path());
    serve.env("SQUADRON_LOG", "warn,squadron_control_plane::tasks=trace");
    serve.arg("serve").arg("--data").arg(&data);
    serve.args([
        "--listen",
        &format!("127.0.0.1:{PORT}"),
        "--agent-listen",
        &format!("127.0.0.1:{}", PORT + 1),
    ]);
    plane.start(&mut serve, "serve")?;
    wait::until("the control plane to begin", PATIENCE, || {
        let token = data.join("admin.token");
        let answers = token.exists() && Api::new(&data, PORT, folder)?.get("/api/v1/queues").is_ok();
        Ok(found_if(answers, plane.last_words()))
    })
}

/// Passes of the dispatcher since its log had so many bytes, in seconds.
fn cycles(plane: &Daemon, from: usize) -> Result<Times> {
    let log = fs::read_to_string(plane.log_file())?;
    let passes = log.get(from..).unwrap_or_default().lines().filter(|line| line.contains("dispatch"));
    let millis = passes.filter_map(|line| {
        let (_, after) = line.split_once("millis=")?;
        after.split_whitespace().next()?.parse::<f64>().ok()
    });
    Times::new(millis.map(|millis| millis / 1_000.0).collect()).context("the log tells of no pass")
}

fn resident_mib(plane: &Daemon) -> Result<u64> {
    let pid = plane.pid().context("the control plane does not run")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no peak of memory")?;
    let kib: u64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
    Ok(kib / 1_024)
}

fn print(jobs: u32, rows: &[(&str, &str, Times)], mib: u64) {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("{jobs} jobs wait; load average {}\n", load.split(' ').next().unwrap_or("unknown"));
    println!("| what | p50 (ms) | p99 (ms) | max (ms) | bar (p99; cycle: max) |\n|---|---|---|---|---|");
    for (what, bar, times) in rows {
        let [p50, p99, max] = times.millis();
        println!("| {what} | {p50:.1} | {p99:.1} | {max:.1} | {bar} |");
    }
    println!("| memory of the control plane, at most | | | {mib} MiB | 2048 MiB |");
}
