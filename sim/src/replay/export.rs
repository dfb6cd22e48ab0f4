//! Export: traces and single jobs as CSV, in the columns that replays read.

use std::io::{self, Write};

use crate::replay::{
    engine::Outcome,
    input::{Fleet, Trace},
};

/// Writes a trace in the columns of the jobs file.
pub fn write_jobs(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["job", "submit_s", "duration_s", "gpus", "team"])?;
    for job in &trace.jobs {
        let [submit, duration] = [job.submit_ms, job.duration_ms].map(seconds);
        csv.write_record([&job.id, &submit, &duration, &job.gpus.to_string(), &trace.teams[job.team]])?;
    }
    csv.flush()
}

/// Writes what became of each job, in the order of submission.
pub fn write_runs(trace: &Trace, fleet: &Fleet, outcome: &Outcome, out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["job", "team", "gpus", "submit_s", "start_s", "end_s", "wait_s", "cluster", "reason"])?;
    let mut runs = vec![None; trace.jobs.len()];
    for run in &outcome.runs {
        runs[run.job] = Some(run);
    }
    for (job, run) in trace.jobs.iter().zip(runs) {
        let submit = seconds(job.submit_ms);
        let gpus = job.gpus.to_string();
        let team = &trace.teams[job.team];
        match run {
            Some(run) => {
                let [start, end, wait] = [run.start, run.end, run.start - job.submit_ms].map(seconds);
                let cluster = &fleet.sites[run.site].name;
                csv.write_record([&job.id, team, &gpus, &submit, &start, &end, &wait, cluster, &run.reason])?;
            }
            None => csv.write_record([
                &job.id,
                team,
                &gpus,
                &submit,
                "",
                "",
                "",
                "",
                "fits no cluster, even an empty one",
            ])?,
        }
    }
    csv.flush()
}

/// Seconds as a decimal without needless zeros.
fn seconds(millis: u64) -> String {
    match millis % 1_000 {
        0 => (millis / 1_000).to_string(),
        rest => format!("{}.{rest:03}", millis / 1_000),
    }
}
