//! Steps: named parts of a run, each with its duration and its counts of tests.
//!
//! The first step that fails ends the run; the summary is printed either way. Its last line is
//! `N passed, N failed`, where a step without tests of its own counts as one.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use squadron_e2e::command;

use crate::counts::{self, Counts};

struct Done {
    name: String,
    took: Duration,
    counts: Counts,
}

/// A run in steps.
#[derive(Default)]
pub struct Steps {
    done: Vec<Done>,
    problem: Option<String>,
}

impl Steps {
    /// Runs one step, unless an earlier one failed.
    pub fn step(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        self.measured(name, |_| work());
    }

    /// Runs a program as a step and counts the tests that its output tells of.
    pub fn tests(&mut self, name: &str, command: impl FnOnce() -> Result<Command>) {
        self.measured(name, |counts| {
            command::watched(&mut command()?, |line| *counts += counts::of_line(line))
        });
    }

    fn measured(&mut self, name: &str, work: impl FnOnce(&mut Counts) -> Result<()>) {
        if self.problem.is_some() {
            return;
        }
        println!("\n== {name}");
        let started = Instant::now();
        let mut counts = Counts::default();
        let result = work(&mut counts);
        if counts.total() == 0 || (result.is_err() && counts.failed == 0) {
            counts += Counts { passed: result.is_ok().into(), failed: result.is_err().into(), skipped: 0 };
        }
        self.done.push(Done { name: name.to_owned(), took: started.elapsed(), counts });
        self.problem = result.err().map(|problem| format!("{name}: {problem:#}"));
    }

    /// Prints the summary; an error if a step failed.
    pub fn finish(self) -> Result<()> {
        let mut total = Counts::default();
        println!("\n{:<40} {:>8} {:>8} {:>8}", "step", "seconds", "passed", "failed");
        for done in &self.done {
            let Counts { passed, failed, .. } = done.counts;
            println!("{:<40} {:>8.1} {passed:>8} {failed:>8}", done.name, done.took.as_secs_f64());
            total += done.counts;
        }
        if let Some(problem) = &self.problem {
            println!("\n{problem}");
        }
        println!("\n{} passed, {} failed", total.passed, total.failed);
        match self.problem {
            Some(_) => bail!("the run stopped at its first failed step"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_failed_step_ends_the_run() {
        let mut steps = Steps::default();
        steps.step("fine", || Ok(()));
        steps.step("broken", || bail!("as expected"));
        steps.step("never", || panic!("a step after a failed one ran"));
        assert_eq!(steps.done.len(), 2);
        assert!(steps.finish().is_err());
    }

    #[test]
    fn tests_of_a_step_are_counted() {
        let mut steps = Steps::default();
        steps.tests("suite", || {
            let mut echo = command::new("echo");
            echo.arg("test result: ok. 3 passed; 0 failed; 0 ignored");
            Ok(echo)
        });
        assert_eq!(steps.done[0].counts, Counts { passed: 3, failed: 0, skipped: 0 });
        assert!(steps.finish().is_ok());
    }
}
