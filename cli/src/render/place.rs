//! Where a job could run, and what was decided when: candidates with their terms, and the clusters that cannot take it.

use squadron_api::placement::{Candidate, Decision, Refused, Term, Where};
use squadron_core::preference::price;

use super::{
    View,
    amount::resources,
    narrow::fitted,
    or_dash, plain,
    style::Style,
    table::{Cell, Column, left, right},
    time::absolute,
    why::steps_of,
};

/// The dry decision.
pub fn place(found: &Where, view: View) -> String {
    let (name, queue) = (plain(&found.name), plain(&found.queue));
    let mut text = format!("{name} in {queue} asks for {}\n", resources(found.requests));
    text.push_str(&match &found.cluster {
        Some(cluster) => format!("it would go to {}: {}\n", strong(cluster, view), plain(&found.sentence)),
        None => format!("it would wait: {}\n", plain(&found.sentence)),
    });
    text.push_str(&choice(&found.candidates, &found.refused, found.left_out, view));
    if found.cluster.is_none() {
        text.push_str(&format!("\nwait  {}\n", plain(&found.estimate.sentence)));
        text.push_str(&steps_of(&found.blockers));
    }
    text
}

fn strong(name: &str, view: View) -> String {
    Style::Strong.paint(&plain(name), view.colour)
}

/// Decisions as they were made, in the order of the list.
pub fn history(decisions: &[Decision], view: View) -> String {
    decisions.iter().map(|one| decision(one, view)).collect::<Vec<_>>().join("\n")
}

fn decision(one: &Decision, view: View) -> String {
    let outcome = Style::of_state(if one.outcome == "blocked" { "queued" } else { "running" })
        .paint(&plain(&one.outcome), view.colour);
    let until = match one.times {
        0 | 1 => String::new(),
        times => format!(", told anew {} times until {}", times - 1, absolute(one.last_at)),
    };
    let what = match (one.attempt, &one.cluster) {
        (Some(attempt), Some(cluster)) => {
            let by = if one.cause.is_empty() { String::new() } else { format!(", by {}", plain(&one.cause)) };
            format!("attempt {attempt} on {}{by}", strong(cluster, view))
        }
        _ => plain(&one.cause),
    };
    let mut text = format!("{}  {}  {outcome}  {what}{until}\n", one.number, absolute(one.first_at));
    text.push_str(&format!("    {}\n", plain(&one.sentence)));
    let tables = choice(&one.candidates, &one.refused, one.left_out, view);
    text.push_str(
        &tables.lines().map(|line| format!("    {line}\n")).collect::<String>().replace("    \n", "\n"),
    );
    text
}

/// Both tables.
fn choice(candidates: &[Candidate], refused: &[Refused], left_out: u32, view: View) -> String {
    let mut text = String::new();
    if !candidates.is_empty() {
        text.push_str(&format!("\nHave room, best first (* decided)\n{}", ranked(candidates, view)));
    }
    if !refused.is_empty() {
        let columns = [left("CLUSTER"), left("CODE"), left("FREE"), left("OF"), left("WHY")];
        let rows: Vec<Vec<Cell>> = refused.iter().map(refusal).collect();
        text.push_str(&format!("\nCannot take it now\n{}", fitted(&columns, &rows, view)));
    }
    if left_out > 0 {
        text.push_str(&format!("\n{left_out} more clusters are not listed\n"));
    }
    text
}

fn ranked(candidates: &[Candidate], view: View) -> String {
    let mut columns: Vec<Column> = vec![left("CLUSTER"), left("FREE"), left("OF")];
    let terms = candidates.first().map_or(&[][..], |first| &first.terms);
    columns.extend(terms.iter().map(|term| right(title(&term.name))));
    let rows: Vec<Vec<Cell>> = candidates
        .iter()
        .map(|one| {
            let mut cells: Vec<Cell> =
                vec![one.cluster.as_str().into(), resources(one.free).into(), resources(one.total).into()];
            cells.extend(one.terms.iter().map(value));
            cells
        })
        .collect();
    fitted(&columns, &rows, view)
}

/// Terms of a later server have no title of their own.
fn title(term: &str) -> &'static str {
    match term {
        "borrowing" => "BORROWING",
        "preference" => "PREFERENCE",
        "data" => "DATA",
        "spread" => "SPREAD",
        "price" => "PRICE",
        "idle_gpus" => "IDLE_GPUS",
        "node_size" => "NODE_SIZE",
        "run" => "RUN",
        "jobs_there" => "JOBS_THERE",
        "fullness" => "FULLNESS",
        _ => "TERM",
    }
}

fn value(term: &Term) -> Cell {
    let number = match term.name.as_str() {
        "fullness" => format!("{}.{} %", term.value / 10, term.value % 10),
        "price" => price(term.value, term.unit.split('/').next().unwrap_or_default()),
        _ => term.value.to_string(),
    };
    if term.decided { Cell::styled(&format!("*{number}"), Style::Strong) } else { number.into() }
}

fn refusal(one: &Refused) -> Vec<Cell> {
    vec![
        one.cluster.as_str().into(),
        or_dash(&one.code).into(),
        resources(one.free).into(),
        resources(one.total).into(),
        one.sentence.as_str().into(),
    ]
}

#[cfg(test)]
mod tests {
    use squadron_api::placement::Estimate;
    use squadron_core::resources::Resources;

    use super::*;
    use crate::render::{
        job::tests::{NOW, VIEW},
        why::tests::too_big,
    };

    fn size(cores: i64, gpus: i64) -> Resources {
        Resources { cpu_milli: cores * 1_000, memory_bytes: 16 << 30, gpus }
    }

    fn candidate(cluster: &str, idle: i64, decided: bool) -> Candidate {
        let term = |name: &str, value: i64, decided: bool| Term {
            name: name.into(),
            value,
            unit: String::new(),
            clause: String::new(),
            decided,
        };
        let terms = vec![term("idle_gpus", idle, decided), term("fullness", 505, false)];
        Candidate { cluster: cluster.into(), free: size(6, idle), total: size(8, idle), terms }
    }

    fn full() -> Refused {
        Refused {
            cluster: "north".into(),
            code: "CLUSTER_FULL".into(),
            sentence: "north is full".into(),
            try_this: String::new(),
            free: size(0, 0),
            total: size(4, 0),
        }
    }

    fn found() -> Where {
        Where {
            name: "train".into(),
            queue: "research".into(),
            requests: size(2, 0),
            cluster: Some("west".into()),
            sentence: "west has room".into(),
            candidates: vec![candidate("west", 0, true), candidate("east", 8, true)],
            refused: vec![full()],
            left_out: 0,
            blockers: vec![],
            position: None,
            estimate: Estimate::default(),
            as_of: NOW,
        }
    }

    #[test]
    fn a_placement_shows_every_term_and_what_the_others_lack() {
        insta::assert_snapshot!(place(&found(), VIEW), @"
        train in research asks for 2 CPU, 16 GiB
        it would go to west: west has room

        Have room, best first (* decided)
        CLUSTER   FREE                   OF                     IDLE_GPUS   FULLNESS
        west      6 CPU, 16 GiB          8 CPU, 16 GiB                 *0     50.5 %
        east      6 CPU, 16 GiB, 8 GPU   8 CPU, 16 GiB, 8 GPU          *8     50.5 %

        Cannot take it now
        CLUSTER   CODE           FREE            OF              WHY
        north     CLUSTER_FULL   0 CPU, 16 GiB   4 CPU, 16 GiB   north is full
        ");
    }

    #[test]
    fn a_wait_shows_how_long_and_what_would_help() {
        let estimate = Estimate { sentence: "unknown: too few".into(), ..Estimate::default() };
        let waits = Where {
            cluster: None,
            sentence: "queued in research, 1st of 1: north is full".into(),
            candidates: vec![],
            blockers: too_big().blockers,
            position: Some(1),
            estimate,
            ..found()
        };
        insta::assert_snapshot!(place(&waits, VIEW), @"
        train in research asks for 2 CPU, 16 GiB
        it would wait: queued in research, 1st of 1: north is full

        Cannot take it now
        CLUSTER   CODE           FREE            OF              WHY
        north     CLUSTER_FULL   0 CPU, 16 GiB   4 CPU, 16 GiB   north is full

        wait  unknown: too few
          try  ask for fewer workers
        ");
    }

    #[test]
    fn history_reads_as_it_happened() {
        let wait = Decision {
            number: 1,
            attempt: None,
            outcome: "blocked".into(),
            cause: "CLUSTER_FULL north".into(),
            sentence: "queued in research, 1st of 1: north is full".into(),
            cluster: None,
            candidates: vec![],
            refused: vec![],
            left_out: 0,
            blockers: too_big().blockers,
            position: Some(1),
            term: 3,
            first_at: NOW.plus_millis(-600_000),
            last_at: NOW.plus_millis(-60_000),
            times: 4,
        };
        let placed = Decision {
            number: 2,
            attempt: Some(1),
            outcome: "assigned".into(),
            cause: "idle_gpus".into(),
            sentence: "west has room".into(),
            cluster: Some("west".into()),
            candidates: found().candidates,
            blockers: vec![],
            position: None,
            first_at: NOW,
            last_at: NOW,
            times: 1,
            ..wait.clone()
        };
        insta::assert_snapshot!(history(&[placed, wait], VIEW), @"
        2  2026-11-30T01:03:20Z  assigned  attempt 1 on west, by idle_gpus
            west has room

            Have room, best first (* decided)
            CLUSTER   FREE                   OF                     IDLE_GPUS   FULLNESS
            west      6 CPU, 16 GiB          8 CPU, 16 GiB                 *0     50.5 %
            east      6 CPU, 16 GiB, 8 GPU   8 CPU, 16 GiB, 8 GPU          *8     50.5 %

        1  2026-11-30T00:53:20Z  blocked  CLUSTER_FULL north, told anew 3 times until 2026-11-30T01:02:20Z
            queued in research, 1st of 1: north is full
        ");
    }
}
