//! Tables of Markdown: what the rounds found for each fault, the sides under each other, and how long submissions took.
//!
//! Invariant: a fault and a side that no round had have no line.

use super::{
    fault::{BRIEF, CONTROL, Fault, LOST},
    record::{Found, Record, quantile},
    side::OURS,
};

const KINDS: [(&str, &[Fault]); 3] =
    [("all losses", &LOST), ("all brief troubles", &BRIEF), ("all controls, which must overlap", &CONTROL)];
const HEAD: &str = "| fault | side | rounds | jobs | moved | two copies | of s each (mean, sum) | old copy survives | \
                    least gap, s | median gap, s | loss → start, s (median, most) | stopped for nothing | with a problem | \
                    s a round (median) |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// A line for each fault and side and one for all faults of a kind, and the latencies of dispatch.
pub fn table(records: &[Record]) -> String {
    let mut text = HEAD.to_owned();
    for (kind, faults) in KINDS {
        for fault in faults {
            for side in sides(records) {
                text.push_str(&row(fault.word(), side, &of(records, side, &[*fault])));
            }
        }
        for side in sides(records) {
            text.push_str(&row(kind, side, &of(records, side, faults)));
        }
    }
    text + &dispatch(records)
}

/// Ours first.
fn sides(records: &[Record]) -> Vec<&str> {
    let mut sides: Vec<&str> = records.iter().map(|record| record.side.as_str()).collect();
    sides.sort_by_key(|side| (*side != OURS, *side));
    sides.dedup();
    sides
}

fn of<'a>(records: &'a [Record], side: &str, faults: &[Fault]) -> Vec<&'a Record> {
    records.iter().filter(|record| record.side == side && faults.contains(&record.fault)).collect()
}

fn row(name: &str, side: &str, records: &[&Record]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let all = || records.iter().map(|record| &record.found);
    let sum = |of: fn(&Found) -> usize| -> usize { all().map(of).sum() };
    let gaps: Vec<f64> = all().flat_map(|found| found.gaps_s.clone()).collect();
    let starts: Vec<f64> = all().flat_map(|found| found.restarts_s.clone()).collect();
    let whole: Vec<f64> = records.iter().map(|record| record.whole_s).filter(|took| !took.is_nan()).collect();
    format!(
        "| {name} | {side} | {} | {} | {} | {} | {} | {} | {} | {} | {}, {} | {} | {} | {} |\n",
        records.len(),
        sum(|found| found.jobs),
        sum(|found| found.moved),
        sum(|found| found.overlaps),
        copies(records),
        sum(|found| found.reverted),
        figure(&gaps, 0.0),
        figure(&gaps, 0.5),
        figure(&starts, 0.5),
        figure(&starts, 1.0),
        sum(|found| found.needless.len()),
        records.iter().filter(|record| !record.problem.is_empty()).count(),
        figure(&whole, 0.5),
    )
}

/// Seconds of two copies: for each job that had them, and of all together.
fn copies(records: &[&Record]) -> String {
    let seconds = records.iter().map(|record| record.found.seconds()).fold(0.0, |sum, one| sum + one);
    let jobs: u32 =
        records.iter().map(|record| u32::try_from(record.found.overlaps).unwrap_or(u32::MAX)).sum();
    if jobs == 0 { "0".to_owned() } else { format!("{:.1}, {seconds:.1}", seconds / f64::from(jobs)) }
}

fn figure(values: &[f64], part: f64) -> String {
    if values.is_empty() { "–".to_owned() } else { format!("{:.1}", quantile(values, part)) }
}

/// How long submissions took.
fn dispatch(records: &[Record]) -> String {
    let mut text = String::from(
        "\n| submit → RayJob | side | jobs | median, ms | p99, ms | most, ms |\n|---|---|---|---|---|---|\n",
    );
    let all = |of: &[&Record], seconds: fn(&Record) -> &Vec<f64>| -> Vec<f64> {
        of.iter().flat_map(|record| seconds(record).clone()).collect()
    };
    for side in sides(records) {
        let idle = all(&of(records, side, &LOST), |record| &record.idle_s);
        text.push_str(&latencies("idle, to a named cluster", side, &idle));
    }
    for fault in LOST.into_iter().filter(|fault| fault.leaves_dispatch()) {
        for side in sides(records) {
            let of_fault = of(records, side, &[fault]);
            let (named, any) =
                (all(&of_fault, |record| &record.during_s), all(&of_fault, |record| &record.any_s));
            text.push_str(&latencies(&format!("{}, to the healthy cluster", fault.word()), side, &named));
            text.push_str(&latencies(&format!("{}, to any cluster", fault.word()), side, &any));
        }
    }
    text
}

fn latencies(name: &str, side: &str, seconds: &[f64]) -> String {
    if seconds.is_empty() {
        return String::new();
    }
    let millis = |part| quantile(seconds, part) * 1_000.0;
    format!(
        "| {name} | {side} | {} | {:.0} | {:.0} | {:.0} |\n",
        seconds.len(),
        millis(0.5),
        millis(0.99),
        millis(1.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::record::tests::record;

    #[test]
    fn the_table_sums_each_fault_and_each_kind() {
        let records = [record(1, Fault::Cut), record(2, Fault::Cut), record(3, Fault::BriefCut)];
        let table = table(&records);
        assert!(
            table.contains(
                "| cut | squadron | 2 | 16 | 12 | 2 | 2.0, 4.0 | 0 | 1.0 | 2.0 | 33.0, 33.0 | 2 | 0 | 66.0 |"
            ),
            "{table}"
        );
        assert!(table.contains("| all brief troubles | squadron | 1 | 8 |"), "{table}");
        assert!(!table.contains("agent-dead"), "a fault that was not drawn has no line: {table}");
        assert!(table.contains("| idle, to a named cluster | squadron | 2 | 50 | 50 | 50 |"), "{table}");
        assert!(
            table.contains("| cut, to the healthy cluster | squadron | 4 | 400 | 400 | 400 |"),
            "{table}"
        );
        assert!(table.contains("| cut, to any cluster | squadron | 2 | 70 | 70 | 70 |"), "{table}");
    }

    #[test]
    fn sides_stand_under_each_other_and_are_not_summed() {
        let mut other = record(1, Fault::Cut);
        other.side = "multikueue".into();
        other.found.reverted = 5;
        other.problem = "it was never whole again".into();
        let table = table(&[other, record(1, Fault::Cut)]);
        let lines: Vec<&str> = table.lines().filter(|line| line.starts_with("| cut |")).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("| cut | squadron | 1 | 8 | 6 | 1 | 2.0, 2.0 | 0 |"), "{table}");
        assert!(lines[1].starts_with("| cut | multikueue | 1 | 8 | 6 | 1 | 2.0, 2.0 | 5 |"), "{table}");
        assert!(lines[1].ends_with("| 1 | 1 | 66.0 |"), "{table}");
    }
}
