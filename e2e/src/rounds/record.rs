//! Records: one line of JSON for each round that ran, in a file that later runs append to.
//!
//! Invariant: a round is written when it is judged, so an interrupted run loses at most the round it was in.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{fault::Fault, side::OURS};

/// What a round found.
#[derive(Clone, Debug)]
pub struct Record {
    /// Whose jobs they were.
    pub side: String,
    pub seed: u64,
    pub round: u32,
    pub fault: Fault,
    pub cluster: String,
    /// Seconds for which a cluster must be lost before its jobs may move.
    pub lease: u32,
    pub found: Found,
    /// Seconds from a submission to the RayJob: before the fault, and during it for those that named the other cluster and
    /// for those that any cluster could take.
    pub idle_s: Vec<f64>,
    pub during_s: Vec<f64>,
    pub any_s: Vec<f64>,
    /// Seconds from the begin of the fault until everything was as it should be, and with what came before the fault.
    pub took_s: f64,
    pub whole_s: f64,
    /// What else went wrong; empty if nothing did.
    pub problem: String,
}

/// What containers and kubelets say of a round.
#[derive(Clone, Debug)]
pub struct Found {
    /// Jobs that were watched, and those that had to start elsewhere.
    pub jobs: usize,
    pub moved: usize,
    /// Jobs of which two copies ran at once, and for how many seconds, by what containers wrote and by what kubelets say.
    pub overlaps: usize,
    pub overlap_s: f64,
    pub kubelet_overlap_s: f64,
    /// Jobs that moved and of which the old copy outlived the new one.
    pub reverted: usize,
    /// Seconds between the end of an attempt and the begin of the next.
    pub gaps_s: Vec<f64>,
    /// Seconds from the begin of the fault to the begin of the next attempt.
    pub restarts_s: Vec<f64>,
    /// Jobs that stopped or started anew although they should not.
    pub needless: Vec<String>,
}

impl Found {
    /// Seconds of two copies, by whoever saw more of them; an empty sum is −0, to which 0 is added.
    pub fn seconds(&self) -> f64 {
        self.overlap_s.max(self.kubelet_overlap_s) + 0.0
    }
}

impl Record {
    fn line(&self) -> Value {
        let found = &self.found;
        json!({
            "side": self.side, "seed": self.seed, "round": self.round, "fault": self.fault.word(), "cluster": self.cluster,
            "lease_s": self.lease, "jobs": found.jobs, "moved": found.moved, "overlaps": found.overlaps,
            "overlap_s": round(found.overlap_s), "kubelet_overlap_s": found.kubelet_overlap_s,
            "reverted": found.reverted,
            "gaps_s": all(&found.gaps_s), "restarts_s": all(&found.restarts_s), "needless": found.needless,
            "idle_s": all(&self.idle_s), "during_s": all(&self.during_s), "any_s": all(&self.any_s),
            "took_s": round(self.took_s), "whole_s": round(self.whole_s),
            "problem": self.problem,
        })
    }

    /// Lines of before there were two sides are ours, and say less.
    fn read(line: &Value) -> Option<Record> {
        let text = |key: &str| line[key].as_str().map(str::to_owned);
        let many = |key: &str| -> Vec<f64> {
            line[key].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
        };
        let number = |key: &str| line[key].as_u64();
        let needless = line["needless"].as_array()?.iter();
        let found = Found {
            jobs: number("jobs")?.try_into().ok()?,
            moved: number("moved")?.try_into().ok()?,
            overlaps: number("overlaps")?.try_into().ok()?,
            overlap_s: line["overlap_s"].as_f64()?,
            kubelet_overlap_s: line["kubelet_overlap_s"].as_f64()?,
            reverted: number("reverted").unwrap_or(0).try_into().ok()?,
            gaps_s: many("gaps_s"),
            restarts_s: many("restarts_s"),
            needless: needless.filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        };
        Some(Record {
            side: text("side").unwrap_or_else(|| OURS.to_owned()),
            seed: number("seed")?,
            round: number("round")?.try_into().ok()?,
            fault: text("fault")?.parse().ok()?,
            cluster: text("cluster")?,
            lease: number("lease_s")?.try_into().ok()?,
            found,
            idle_s: many("idle_s"),
            during_s: many("during_s"),
            any_s: many("any_s"),
            took_s: line["took_s"].as_f64()?,
            whole_s: line["whole_s"].as_f64().unwrap_or(f64::NAN),
            problem: text("problem")?,
        })
    }

    /// No two copies and no stop for nothing; of a loss, also that its jobs moved and that nothing else went wrong, or else
    /// there was nothing to count; of a control, that its two copies were seen. Of another side nothing is demanded.
    pub fn is_good(&self) -> bool {
        let found = &self.found;
        if self.side != OURS {
            return true;
        }
        if self.fault.is_control() {
            return found.seconds() > 0.0;
        }
        let is_whole = !self.fault.loses() || (found.moved > 0 && self.problem.is_empty());
        is_whole && found.overlaps == 0 && found.needless.is_empty()
    }

    /// For the eye, while a run goes on.
    pub fn told(&self) -> String {
        let found = &self.found;
        let needless =
            if found.needless.is_empty() { "none".to_owned() } else { found.needless.join(" and ") };
        let problem = if self.problem.is_empty() { String::new() } else { format!("; {}", self.problem) };
        let moved = if found.moved > 0 || self.fault.loses() {
            let (gap, start) = (quantile(&found.gaps_s, 0.0), quantile(&found.restarts_s, 0.5));
            format!(
                "{} of {} jobs moved, {} back, least gap {gap:.1} s, start after {start:.1} s",
                found.moved, found.jobs, found.reverted
            )
        } else {
            format!("{} jobs", found.jobs)
        };
        format!(
            "{} round {} {} of {}: {moved}; {} overlap ({:.1} s); stopped for nothing: {needless}; {:.0} s of {:.0} \
             s{problem}",
            self.side,
            self.round,
            self.fault.word(),
            self.cluster,
            found.overlaps,
            found.seconds(),
            self.took_s,
            self.whole_s
        )
    }
}

/// The file of a run.
pub struct Book(PathBuf);

impl Book {
    pub fn new(path: PathBuf) -> Book {
        Book(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What earlier runs wrote.
    pub fn read(&self) -> Result<Vec<Record>> {
        if !self.0.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&self.0).with_context(|| format!("reading {}", self.0.display()))?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(lines.filter_map(|line| Record::read(&line)).collect())
    }

    pub fn add(&self, record: &Record) -> Result<()> {
        fs::create_dir_all(self.0.parent().context("the file has a folder")?)?;
        let mut file = fs::File::options().create(true).append(true).open(&self.0)?;
        // In one write, because two runs may append to one file.
        file.write_all(format!("{}\n", record.line()).as_bytes())
            .with_context(|| format!("writing {}", self.0.display()))
    }
}

/// The value below which a part of the values lies; not a number when there are none.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index within a short list"
    )]
    let index = (last as f64 * part).ceil() as usize;
    sorted.get(index.min(last)).copied().unwrap_or(f64::NAN)
}

fn round(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}

fn all(seconds: &[f64]) -> Vec<f64> {
    seconds.iter().copied().map(round).collect()
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    pub fn record(round: u32, fault: Fault) -> Record {
        Record {
            side: OURS.into(),
            seed: 7,
            round,
            fault,
            cluster: "rounds-a".into(),
            lease: 20,
            found: Found {
                jobs: 8,
                moved: 6,
                overlaps: 1,
                overlap_s: 1.5,
                kubelet_overlap_s: 2.0,
                reverted: 0,
                gaps_s: vec![1.0, 2.0, 9.0],
                restarts_s: vec![33.0],
                needless: vec!["round-wait-rounds-b".into()],
            },
            idle_s: vec![0.05],
            during_s: vec![0.06, 0.4],
            any_s: vec![0.07],
            took_s: 61.0,
            whole_s: 66.0,
            problem: String::new(),
        }
    }

    #[test]
    fn a_run_that_is_continued_finds_what_was_written() {
        let folder = std::env::temp_dir().join(format!("squadron-rounds-{}", std::process::id()));
        let book = Book::new(folder.join("rounds.jsonl"));
        assert!(book.read().unwrap().is_empty());
        book.add(&record(1, Fault::Cut)).unwrap();
        book.add(&record(2, Fault::AgentKill)).unwrap();
        let read = book.read().unwrap();
        assert_eq!(read.iter().map(|record| record.round).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(read[0].line(), record(1, Fault::Cut).line());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_line_of_before_there_were_sides_is_ours() {
        let mut line = record(1, Fault::Cut).line();
        for key in ["side", "reverted", "any_s", "whole_s"] {
            line.as_object_mut().unwrap().remove(key);
        }
        let read = Record::read(&line).unwrap();
        assert_eq!((read.side.as_str(), read.found.reverted, read.found.moved), (OURS, 0, 6));
    }

    #[test]
    fn two_copies_are_bad_and_a_control_without_them_is() {
        let seen = record(1, Fault::Cut);
        assert!(!seen.is_good());
        let mut none = record(2, Fault::Cut);
        none.found =
            Found { overlaps: 0, overlap_s: 0.0, kubelet_overlap_s: 0.0, needless: vec![], ..none.found };
        assert!(none.is_good());
        assert!(Record { side: "multikueue".into(), ..seen.clone() }.is_good(), "it is only measured");
        let caught = Record { fault: Fault::FalseWord, ..seen };
        assert!(caught.is_good());
        assert!(!Record { fault: Fault::FalseWord, ..none }.is_good());
    }

    #[test]
    fn a_loss_that_moved_nothing_or_met_another_problem_proves_nothing() {
        let seen = record(1, Fault::Cut);
        let good = Record {
            found: Found {
                overlaps: 0,
                overlap_s: 0.0,
                kubelet_overlap_s: 0.0,
                needless: vec![],
                ..seen.found.clone()
            },
            ..seen
        };
        assert!(good.is_good());
        let problem = Record { problem: "the API server did not answer".into(), ..good.clone() };
        assert!(!problem.is_good());
        let still = Record { found: Found { moved: 0, ..good.found.clone() }, ..good };
        assert!(!still.is_good());
        assert!(Record { fault: Fault::BriefCut, ..still }.is_good(), "nothing has to move");
        assert!(Record { fault: Fault::BriefCut, ..problem.clone() }.is_good());
    }
}
