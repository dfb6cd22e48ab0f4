//! Go's test output: what each function and each of its cases came to.

use std::collections::BTreeMap;

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Passed,
    Failed,
    Skipped,
    /// It began and nothing more was said: the run was cut short.
    Unfinished,
}

impl End {
    pub fn word(self) -> &'static str {
        match self {
            End::Passed => "pass",
            End::Failed => "FAIL",
            End::Skipped => "skip",
            End::Unfinished => "UNFINISHED",
        }
    }
}

/// One function or case.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub end: End,
    pub seconds: f64,
}

/// Collects outcomes from the lines of `-test.v`, in the order in which the tests began.
#[derive(Default)]
pub struct Outcomes {
    order: Vec<String>,
    by_name: BTreeMap<String, Outcome>,
}

impl Outcomes {
    /// Reads one line; lines that are no test's beginning or end are passed over.
    pub fn see(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("=== RUN ") {
            self.began(name.trim());
        } else if let Some(ended) = line.trim_start().strip_prefix("--- ") {
            self.ended(ended);
        }
    }

    fn began(&mut self, name: &str) {
        if self.by_name.insert(name.to_owned(), Outcome { end: End::Unfinished, seconds: 0.0 }).is_none() {
            self.order.push(name.to_owned());
        }
    }

    /// For example `PASS: TestRayJob/Successful_RayJob (61.20s)`.
    fn ended(&mut self, text: &str) {
        let Some((word, rest)) = text.split_once(": ") else { return };
        let Some((name, took)) = rest.rsplit_once(" (") else { return };
        let end = match word {
            "PASS" => End::Passed,
            "FAIL" => End::Failed,
            "SKIP" => End::Skipped,
            _ => return,
        };
        let seconds = took.trim_end_matches(['s', ')']).parse().unwrap_or(0.0);
        if let Some(known) = self.by_name.get_mut(name) {
            *known = Outcome { end, seconds };
        }
    }

    /// Every test in the order in which it began.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Outcome)> {
        self.order.iter().filter_map(|name| Some((name.as_str(), self.by_name.get(name)?)))
    }

    pub fn count(&self, end: End) -> usize {
        self.leaves().filter(|(_, outcome)| outcome.end == end).count()
    }

    /// Cases, and functions without cases: what is counted.
    fn leaves(&self) -> impl Iterator<Item = (&str, &Outcome)> {
        self.all().filter(|(name, _)| {
            let prefix = format!("{name}/");
            !self.order.iter().any(|other| other.starts_with(&prefix))
        })
    }

    pub fn print(&self) {
        println!("\n{:<28} {:<62} {:<10} {:>8}", "function", "case", "result", "seconds");
        for (name, outcome) in self.all() {
            let (function, case) = name.split_once('/').unwrap_or((name, ""));
            let word = outcome.end.word();
            println!("{function:<28} {:<62} {word:<10} {:>8.1}", case.replace('_', " "), outcome.seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
=== RUN   TestRayJob
    test.go:110: [2026-11-29T10:00:00Z] Creating output directory
=== RUN   TestRayJob/Successful_RayJob
=== RUN   TestRayJob/Failing_RayJob
--- FAIL: TestRayJob (134.02s)
    --- PASS: TestRayJob/Successful_RayJob (61.20s)
    --- FAIL: TestRayJob/Failing_RayJob (72.50s)
=== RUN   TestRayClusterManagedBy
panic: test timed out after 1s
";

    fn read(output: &str) -> Outcomes {
        let mut outcomes = Outcomes::default();
        output.lines().for_each(|line| outcomes.see(line));
        outcomes
    }

    #[test]
    fn outcomes_come_in_the_order_of_their_beginning() {
        let outcomes = read(OUTPUT);
        let seen: Vec<_> =
            outcomes.all().map(|(name, outcome)| (name, outcome.end, outcome.seconds)).collect();
        let expected = [
            ("TestRayJob", End::Failed, 134.02),
            ("TestRayJob/Successful_RayJob", End::Passed, 61.2),
            ("TestRayJob/Failing_RayJob", End::Failed, 72.5),
            ("TestRayClusterManagedBy", End::Unfinished, 0.0),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn function_with_cases_is_not_counted_beside_them() {
        let outcomes = read(OUTPUT);
        let counts = [End::Passed, End::Failed, End::Unfinished].map(|end| outcomes.count(end));
        assert_eq!(counts, [1, 1, 1]);
    }
}
