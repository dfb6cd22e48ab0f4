//! The report of a fleet: what ran, the medians, and the bars.

use std::fmt::Write;

use anyhow::{Context, Result};
use squadron_e2e::command;

use super::{Burst, Measured};
use crate::bench::report::{machine, median};

const INTRODUCTION: &str = "# Many agents on fake API servers

Whole agents, from boot to spool, run in one process against fake API servers in that process: each keeps RayJobs, Leases and one
node without disk or admission, and says of a RayJob that it runs and then that it has succeeded. The control plane and its Postgres
are the real programs with their defaults, but for finished RayJobs, which go after 30 s. Every agent is enrolled and accepted
with a token of its own cluster and speaks gRPC over TLS. Jobs are submitted over HTTPS, one by one and in lists. Control plane,
Postgres, agents, fakes and the generator share this machine, so real clusters leave more of it to the control plane. Written by `make bench-fleet`.
";

/// As Markdown.
pub fn text(single: &Measured, few: &Measured, many: &Measured, jobs: u32) -> Result<String> {
    let mut text = format!("{INTRODUCTION}\n");
    let rustc = command::output(command::new("rustc").arg("--version"))?;
    writeln!(text, "Machine: {}. {}, Postgres {}.\n", machine()?, rustc.trim(), few.postgres)?;
    writeln!(
        text,
        "Bursts of {jobs} jobs of about 4 KiB over {} connections, each RayJob lasts {:.1} s; medians of {} bursts after one that \
         is not counted.\n",
        few.connections,
        f64::from(few.run_ms) / 1_000.0,
        few.runs.len()
    )?;
    writeln!(text, "| | {} | {} | {} |\n|---|---|---|---|", way(single), way(few), way(many))?;
    for (name, of) in ROWS {
        let [single, few, many] = [single, few, many].map(|measured| middle(&measured.runs, of));
        writeln!(text, "| {name} | {} | {} | {} |", single?, few?, many?)?;
    }
    let rate = |measured: &Measured| middle_of(&measured.runs, |run| run.made_per_s);
    let drop = 100.0 * (1.0 - rate(many)? / rate(few)?);
    let each = [single, few, many].map(each).join("; ");
    writeln!(text, "\nJobs a second to the object, each burst: {each}.")?;
    writeln!(text, "With {} agents the rate is {drop:.0} % lower than with {}.", many.agents, few.agents)?;
    writeln!(text, "{}", memory(many))?;
    writeln!(text, "Writes for each job at the API servers: {}.", writes(few))?;
    Ok(text)
}

fn way(measured: &Measured) -> String {
    match measured.batch {
        1 => format!("{} agents, one by one", measured.agents),
        batch => format!("{} agents, lists of {batch}", measured.agents),
    }
}

type Row = (&'static str, fn(&Burst) -> f64);

const ROWS: [Row; 6] = [
    ("jobs/s submitted", |run| run.submitted_per_s),
    ("jobs/s from submission to the RayJob object", |run| run.made_per_s),
    ("jobs/s from submission to the end, as the control plane knows it", |run| run.ended_per_s),
    ("ms of CPU a job: control plane", |run| run.cpu_ms.control_plane),
    ("Postgres", |run| run.cpu_ms.postgres),
    ("agents, fakes and generator", |run| run.cpu_ms.agents),
];

fn middle_of(runs: &[Burst], of: impl Fn(&Burst) -> f64) -> Result<f64> {
    median(&runs.iter().map(of).collect::<Vec<_>>()).context("no burst")
}

fn middle(runs: &[Burst], of: fn(&Burst) -> f64) -> Result<String> {
    let value = middle_of(runs, of)?;
    Ok(if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") })
}

fn each(measured: &Measured) -> String {
    let rates: Vec<String> = measured.runs.iter().map(|run| format!("{:.0}", run.made_per_s)).collect();
    format!("{} with {}", rates.join(", "), way(measured))
}

fn memory(measured: &Measured) -> String {
    let kib = |bytes: u64| bytes / 1_024;
    let grown = measured.memory_after.saturating_sub(measured.memory_before);
    format!(
        "The control plane held {} KiB before the last {} agents came and {} KiB with them: {} KiB for each. After the bursts it \
         held {} KiB.",
        kib(measured.memory_before),
        measured.added,
        kib(measured.memory_after),
        kib(grown / u64::from(measured.added.max(1))),
        kib(measured.memory_end)
    )
}

fn writes(measured: &Measured) -> String {
    let Some(run) = measured.runs.last() else { return String::new() };
    let kinds: Vec<String> = run.writes.iter().map(|(kind, count)| format!("{kind} {count:.2}")).collect();
    kinds.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::fleet::Cpu;

    fn measured(agents: u32, batch: u32, rates: &[f64]) -> Measured {
        let burst = |rate: &f64| Burst {
            submitted_per_s: 2.0 * rate,
            made_per_s: *rate,
            ended_per_s: rate / 2.0,
            writes: [("POST rayjobs".to_owned(), 1.0)].into(),
            cpu_ms: Cpu { control_plane: 0.5, postgres: 0.25, agents: 0.75 },
        };
        Measured {
            agents,
            added: agents - 10,
            run_ms: 2_000,
            connections: 16,
            batch,
            memory_before: 100 << 20,
            memory_after: 149 << 20,
            memory_end: 200 << 20,
            postgres: "15".to_owned(),
            runs: rates.iter().map(burst).collect(),
        }
    }

    #[test]
    fn report_holds_the_medians_the_drop_and_the_memory_of_one_agent() {
        let single = measured(10, 1, &[400.0, 500.0, 600.0]);
        let few = measured(10, 100, &[900.0, 1_000.0, 1_100.0]);
        let many = measured(500, 100, &[850.0, 1_500.0, 100.0]);
        let text = text(&single, &few, &many, 5_000).unwrap();
        for part in [
            "| | 10 agents, one by one | 10 agents, lists of 100 | 500 agents, lists of 100 |",
            "| jobs/s from submission to the RayJob object | 500 | 1000 | 850 |",
            "the rate is 15 % lower",
            "102 KiB for each",
            "900, 1000, 1100 with 10 agents, lists of 100",
            "POST rayjobs 1.00",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
