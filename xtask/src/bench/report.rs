//! The report of a measurement: every figure, the medians and their ratio.

use std::fmt::Write;

use anyhow::{Context, Result};
use squadron_e2e::command;

/// Seconds of each run.
#[derive(Default)]
pub struct Report {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Report {
    pub fn add(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    /// As Markdown.
    pub fn text(&self) -> Result<String> {
        let (ours, theirs) = (median(&self.ours).context("no run")?, median(&self.theirs).context("no run")?);
        let mut text = String::from(
            "# From submit to the driver's first line\n\n\
             The same RayJob (head, one worker, K8sJobMode, images present) on the same testbed cluster, in turns, with\n\
             Squadron (`squadron submit`) and with KubeRay's operator v1.5.0 (`kubectl create`). The driver prints its own\n\
             clock. One unmeasured run of each came first. Written by `make bench-submit`.\n\n",
        );
        writeln!(text, "Machine: {}. Kubernetes 1.34, Ray 2.60.0.\n", machine()?)?;
        writeln!(text, "| run | squadron (s) | kuberay (s) |\n|---|---|---|")?;
        for (run, (ours, theirs)) in (1..).zip(self.ours.iter().zip(&self.theirs)) {
            writeln!(text, "| {run} | {ours:.1} | {theirs:.1} |")?;
        }
        writeln!(text, "| **median** | **{ours:.1}** | **{theirs:.1}** |\n")?;
        writeln!(text, "Ratio of the medians: {:.2}.", ours / theirs)?;
        Ok(text)
    }
}

/// What measured: cores, kernel and how busy it was.
pub fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let kernel = command::output(command::new("uname").arg("-sr"))?;
    let load = load.split(' ').next().unwrap_or_default();
    Ok(format!("{cores} cores, {}, load average at the end {load}", kernel.trim()))
}

/// The middle value; of an even number, the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_of_the_sorted_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn report_holds_every_run_and_the_ratio() {
        let mut report = Report::default();
        report.add(20.0, 25.0);
        report.add(22.0, 27.0);
        let text = report.text().unwrap();
        assert!(
            text.contains("| 2 | 22.0 | 27.0 |") && text.contains("Ratio of the medians: 0.81."),
            "{text}"
        );
    }
}
