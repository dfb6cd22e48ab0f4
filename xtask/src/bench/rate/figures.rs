//! Figures of a run: latencies, rate, order, writes and CPU.

use std::collections::BTreeMap;

use super::audit::Writes;

/// What one run left behind.
pub struct Run {
    /// Receipt of each job, in seconds since 1970, by the name of its RayJob.
    pub received: BTreeMap<String, f64>,
    pub writes: Writes,
    /// CPU seconds by part.
    pub cpu: BTreeMap<String, f64>,
}

impl Run {
    /// Receipt and creation of each job, in the order of receipt.
    fn spans(&self) -> Vec<(f64, f64)> {
        let created = |name: &String| self.writes.created.get(name).copied();
        let mut spans: Vec<(f64, f64)> =
            self.received.iter().filter_map(|(name, at)| Some((*at, created(name)?))).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans
    }

    /// Seconds from receipt to the object.
    pub fn latencies(&self) -> Vec<f64> {
        self.spans().iter().map(|(received, created)| created - received).collect()
    }

    /// Jobs a second from the first receipt to the last object.
    fn rate(&self) -> f64 {
        let spans = self.spans();
        let begun = spans.first().map_or(0.0, |span| span.0);
        let ended = spans.iter().map(|span| span.1).fold(begun, f64::max);
        count(spans.len()) / (ended - begun).max(1e-9)
    }

    /// How many places a job's object came before or after its turn, at most.
    fn displaced(&self) -> usize {
        let spans = self.spans();
        let mut by_creation: Vec<usize> = (0..spans.len()).collect();
        by_creation.sort_by(|a, b| spans[*a].1.total_cmp(&spans[*b].1));
        by_creation.iter().enumerate().map(|(place, turn)| place.abs_diff(*turn)).max().unwrap_or(0)
    }

    fn per_job(&self, number: u64) -> f64 {
        count(usize::try_from(number).unwrap_or(usize::MAX)) / count(self.received.len().max(1))
    }

    fn cpu_per_job(&self) -> f64 {
        self.cpu.values().sum::<f64>() / count(self.received.len().max(1))
    }

    /// One line and the parts behind it.
    pub fn line(&self) -> String {
        let mut latencies = self.latencies();
        let parts: Vec<String> = self.cpu.iter().map(|(name, used)| format!("{name} {used:.1}")).collect();
        let writes: Vec<String> =
            self.writes.by_kind.iter().map(|(kind, number)| format!("{kind} {number}")).collect();
        format!(
            "{} jobs: {:.1}/s, p50 {:.2} s, p99 {:.2} s, at most {} places out of turn; {:.2} writes per job \
             ({:.2} with Events); {:.3} CPU s per job\n  cpu: {}\n  writes: {}",
            self.received.len(),
            self.rate(),
            quantile(&mut latencies, 0.5),
            quantile(&mut latencies, 0.99),
            self.displaced(),
            self.per_job(self.writes.without_events()),
            self.per_job(self.writes.all()),
            self.cpu_per_job(),
            parts.join(", "),
            writes.join(", ")
        )
    }
}

/// Latency of jobs that came alone.
pub fn idle(latencies: &mut [f64]) -> String {
    let (half, most) = (quantile(latencies, 0.5), quantile(latencies, 0.99));
    format!("idle, {} jobs one by one: p50 {half:.3} s, p99 {most:.3} s", latencies.len())
}

/// Medians over the bursts.
pub fn summary(runs: &[Run]) -> String {
    let median = |of: &dyn Fn(&Run) -> f64| quantile(&mut runs.iter().map(of).collect::<Vec<_>>(), 0.5);
    format!(
        "medians of {} bursts: {:.1} jobs/s, {:.2} writes per job without Events, {:.2} with, {:.3} CPU s per job",
        runs.len(),
        median(&Run::rate),
        median(&|run| run.per_job(run.writes.without_events())),
        median(&|run| run.per_job(run.writes.all())),
        median(&Run::cpu_per_job)
    )
}

/// The value below which a part of the values lies; not a number when there are none.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the slice")]
    let index = (count(last) * part).ceil() as usize;
    values.get(index.min(last)).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2⁵³")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summed_up_from_its_spans() {
        let of = |times: [f64; 3]| ["a", "b", "c"].map(str::to_owned).into_iter().zip(times).collect();
        let (received, created) = (of([1.0, 2.0, 3.0]), of([4.0, 6.0, 5.0]));
        let by_kind = BTreeMap::from([("create rayjobs".to_owned(), 3), ("create events".to_owned(), 3)]);
        let writes = Writes { created, by_kind, ..Writes::default() };
        let run = Run { received, writes, cpu: BTreeMap::from([("etcd".into(), 0.6)]) };
        assert_eq!(run.latencies(), [3.0, 4.0, 2.0]);
        assert_eq!((run.rate(), run.displaced()), (0.6, 1));
        let line = run.line();
        assert!(line.contains("1.00 writes per job (2.00 with Events); 0.200 CPU s per job"), "{line}");
    }
}
