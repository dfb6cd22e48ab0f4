//! Jobs: the trace. Rows may repeat each other in all but the id, and need not be sorted.

use std::{collections::BTreeMap, io::Read};

use crate::replay::input::table::{Refused, Table};

/// A hundred years.
const MAX_SECONDS: u64 = 3_155_760_000;
const MAX_GPUS: u64 = 1_000_000;
const MAX_TEAMS: usize = 100_000;

/// One job of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub id: String,
    /// Milliseconds from the start of the trace.
    pub submit_ms: u64,
    /// Milliseconds that it runs once it has a place. Policies do not see this, oracles do.
    pub duration_ms: u64,
    /// GPUs of the gang.
    pub gpus: u32,
    /// Capacity that it takes, in thousandths of a GPU.
    pub gpu_milli: u64,
    /// Index into [`Trace::teams`].
    pub team: usize,
    /// Models that it may run on, sorted; empty means any.
    pub models: Vec<String>,
}

/// A whole trace, in the order of submission.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Trace {
    pub jobs: Vec<Job>,
    /// Names of teams, sorted.
    pub teams: Vec<String>,
    /// Rows without a duration, which are left out.
    pub without_duration: u64,
}

/// Reads a trace; `file` names it in refusals.
pub fn read_jobs(file: &str, source: impl Read) -> Result<Trace, Refused> {
    let mut table = Table::open(file, source)?;
    let columns = Columns::find(&table)?;
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut teams: BTreeMap<String, usize> = BTreeMap::new();
    let mut trace = Trace::default();
    while table.advance()? {
        let row = columns.row(&table)?;
        if let Some(first) = lines.insert(row.job.id.clone(), table.line()) {
            let why = format!("the job was already given in line {first}");
            return Err(table.refuse_value(columns.job, &row.job.id, &why));
        }
        let Some(duration_ms) = row.duration_ms else {
            trace.without_duration += 1;
            continue;
        };
        let next = teams.len();
        let team = *teams.entry(row.team.clone()).or_insert(next);
        if team >= MAX_TEAMS {
            return Err(table.refuse_value(columns.team, &row.team, "there are more than 100000 teams"));
        }
        trace.jobs.push(Job { duration_ms, team, ..row.job });
    }
    trace.sort_teams(&teams);
    trace.jobs.sort_by_key(|job| job.submit_ms);
    Ok(trace)
}

impl Trace {
    /// Numbers teams by name instead of by appearance.
    fn sort_teams(&mut self, teams: &BTreeMap<String, usize>) {
        let mut sorted = vec![0; teams.len()];
        for (rank, appearance) in teams.values().enumerate() {
            sorted[*appearance] = rank;
        }
        for job in &mut self.jobs {
            job.team = sorted[job.team];
        }
        self.teams = teams.keys().cloned().collect();
    }
}

struct Columns {
    job: usize,
    submit: usize,
    duration: usize,
    gpus: usize,
    team: usize,
    gpu_milli: Option<usize>,
    gpu_types: Option<usize>,
}

struct Row {
    job: Job,
    duration_ms: Option<u64>,
    team: String,
}

impl Columns {
    fn find(table: &Table<'_>) -> Result<Self, Refused> {
        Ok(Columns {
            job: table
                .column("job")
                .or_else(|| table.column("task"))
                .map_or_else(|| table.required("job"), Ok)?,
            submit: table.required("submit_s")?,
            duration: table.required("duration_s")?,
            gpus: table.required("gpus")?,
            team: table.required("team")?,
            gpu_milli: table.column("gpu_milli"),
            gpu_types: table.column("gpu_types"),
        })
    }

    fn row(&self, table: &Table<'_>) -> Result<Row, Refused> {
        let submit_ms = table.millis(self.submit, MAX_SECONDS)?;
        let Some(submit_ms) = submit_ms else {
            return Err(table.refuse_value(self.submit, "", "the value is missing"));
        };
        let gpus = table.whole(self.gpus, 1..=MAX_GPUS)?;
        let job = Job {
            id: table.filled(self.job)?.to_owned(),
            submit_ms,
            duration_ms: 0,
            gpus: u32::try_from(gpus).unwrap_or(u32::MAX),
            gpu_milli: gpus * self.share(table)?,
            team: 0,
            models: self.models(table)?,
        };
        let duration_ms = table.millis(self.duration, MAX_SECONDS)?;
        Ok(Row { job, duration_ms, team: table.text(self.team)?.to_owned() })
    }

    /// Thousandths of each GPU that the job takes.
    fn share(&self, table: &Table<'_>) -> Result<u64, Refused> {
        match self.gpu_milli {
            Some(column) if !table.text(column)?.is_empty() => table.whole(column, 1..=1_000),
            _ => Ok(1_000),
        }
    }

    fn models(&self, table: &Table<'_>) -> Result<Vec<String>, Refused> {
        let Some(column) = self.gpu_types else { return Ok(Vec::new()) };
        let names = table.text(column)?.split('|').map(str::trim).filter(|name| !name.is_empty());
        let mut models: Vec<String> = names.map(str::to_owned).collect();
        models.sort();
        models.dedup();
        Ok(models)
    }
}
