//! What a changed policy would do: the sentence, then jobs, loans and queues, each before and after.

use std::collections::BTreeSet;

use squadron_api::{
    queue::QueueQuota,
    what_if::{WhatIf, WhatIfClaim, WhatIfQueue, WhatIfStanding, WhatIfStart, WhatIfStop, WhatIfWait},
};
use squadron_core::sentence::count;

use super::{
    View,
    fit::wrapped,
    narrow::fitted,
    plain,
    policy::changes,
    style::Style,
    table::{Cell, Column, left, right},
    tree::{amount_of, flavor, percent},
};

const QUEUES: &[Column] = &[
    left("QUEUE"),
    left("FLAVOR"),
    left("RESOURCE"),
    right("NOMINAL"),
    right("USED"),
    right("BORROWED"),
    right("SHARE"),
];

/// Everything that would be different.
pub fn what_if(told: &WhatIf, view: View) -> String {
    let mut text = changes(&told.changes, view.colour);
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("{}\n", plain(&told.sentence)));
    let lines = |text: &mut String, title: &str, all: Vec<String>, total: u32| {
        if all.is_empty() {
            return;
        }
        text.push_str(&format!("\n{}\n", Style::Strong.paint(title, view.colour)));
        all.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        let more = (total as usize).saturating_sub(all.len());
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
    };
    lines(&mut text, "would start now", told.starts.iter().map(start).collect(), told.starts_total);
    lines(&mut text, "would wait for", told.waits.iter().map(wait).collect(), told.waits_total);
    lines(&mut text, "would be asked to stop", told.stops.iter().map(stop).collect(), told.stops_total);
    let claims: Vec<String> = told.claims.iter().map(claim).collect();
    lines(&mut text, "would be on loan, which others may claim", claims, told.claims_total);
    let text = wrapped(&text, view.width);
    let rows: Vec<Vec<Cell>> = told.queues.iter().flat_map(rows).collect();
    if rows.is_empty() {
        return text;
    }
    let more = (told.queues_total as usize).saturating_sub(told.queues.len());
    let more = if more > 0 { format!("and {}\n", count(more, "more queue")) } else { String::new() };
    format!("{text}\n{}{more}", fitted(QUEUES, &rows, view))
}

fn start(job: &WhatIfStart) -> String {
    format!(
        "{}  of {}  on {}: {}",
        plain(&job.name),
        plain(&job.queue),
        plain(&job.cluster),
        plain(&job.sentence)
    )
}

fn wait(job: &WhatIfWait) -> String {
    let before = if job.code_before.is_empty() { "starts now" } else { &job.code_before };
    let (name, queue) = (plain(&job.name), plain(&job.queue));
    format!("{name}  of {queue}  {} → {}: {}", plain(before), plain(&job.code), plain(&job.sentence))
}

fn stop(job: &WhatIfStop) -> String {
    format!(
        "{}  attempt {}  of {}  on {}  for {}: {}",
        job.id,
        job.attempt,
        plain(&job.queue),
        plain(&job.cluster),
        plain(&job.makes_room_for),
        plain(&job.sentence)
    )
}

fn claim(claim: &WhatIfClaim) -> String {
    let show = |amount| amount_of(&claim.resource, Some(amount));
    let mut text = format!(
        "{}  {} {}: {} borrowed → {}",
        plain(&claim.queue),
        plain(&claim.flavor),
        plain(&claim.resource),
        show(claim.borrowed_before),
        show(claim.borrowed)
    );
    if claim.beyond > 0 {
        text.push_str(&format!(
            "; {} above its limit, so nothing more starts there until it has ended",
            show(claim.beyond)
        ));
    }
    text
}

/// One row for each flavor and resource of either side.
fn rows(queue: &WhatIfQueue) -> Vec<Vec<Cell>> {
    let all =
        |side: &Option<WhatIfStanding>| side.iter().flat_map(|it| it.quotas.clone()).collect::<Vec<_>>();
    let (before, after) = (all(&queue.before), all(&queue.after));
    let keys: BTreeSet<(String, String)> =
        before.iter().chain(&after).map(|line| (line.flavor.clone(), line.resource.clone())).collect();
    let share = |side: &Option<WhatIfStanding>| {
        side.as_ref().and_then(|it| it.share).map_or_else(|| "-".to_owned(), percent)
    };
    let share = moved(&share(&queue.before), &share(&queue.after));
    let mut rows: Vec<Vec<Cell>> = keys.iter().map(|key| row(key, &before, &after)).collect();
    if rows.is_empty() {
        let fate = if queue.after.is_some() { "not limited" } else { "removed" };
        rows.push([fate, "", "", "", ""].map(Cell::from).to_vec());
    }
    for (at, row) in rows.iter_mut().enumerate() {
        let first = at == 0;
        row.insert(0, if first { queue.name.as_str().into() } else { "".into() });
        row.push(if first { share.clone() } else { "".into() });
    }
    rows
}

fn row(key: &(String, String), before: &[QueueQuota], after: &[QueueQuota]) -> Vec<Cell> {
    let (before, after) = (find(before, key), find(after, key));
    let show = |line: Option<&QueueQuota>, of: fn(&QueueQuota) -> Option<i64>| {
        line.map_or_else(|| "-".to_owned(), |line| amount_of(&key.1, of(line)))
    };
    let both = |of| moved(&show(before, of), &show(after, of));
    let named = |line: Option<&QueueQuota>| line.map_or_else(String::new, flavor);
    vec![
        moved(&named(before.or(after)), &named(after.or(before))),
        key.1.as_str().into(),
        both(|line| Some(line.nominal)),
        both(|line| line.used),
        both(|line| line.borrowed),
    ]
}

fn find<'q>(lines: &'q [QueueQuota], (flavor, resource): &(String, String)) -> Option<&'q QueueQuota> {
    lines.iter().find(|line| line.flavor == *flavor && line.resource == *resource)
}

/// `8 → 16`, or only `8` where nothing moves.
fn moved(before: &str, after: &str) -> Cell {
    if before == after {
        return before.into();
    }
    Cell::styled(&format!("{before} → {after}"), Style::Busy)
}

#[cfg(test)]
mod tests {
    use squadron_core::{id::JobId, time::Timestamp};

    use super::*;

    fn gpus(nominal: i64, used: i64, borrowed: i64) -> QueueQuota {
        QueueQuota {
            flavor: "h100".into(),
            flavor_weight: 1_000,
            resource: "gpu".into(),
            declared: true,
            nominal,
            total: nominal,
            borrowing_limit: None,
            lending_limit: None,
            used: Some(used),
            borrowed: Some(borrowed),
            lent: Some(0),
        }
    }

    fn standing(share: i64, quota: QueueQuota) -> Option<WhatIfStanding> {
        Some(WhatIfStanding { share: Some(share), quotas: vec![quota] })
    }

    fn example() -> WhatIf {
        let (id, queue) =
            (JobId("00000000-0000-0000-0000-000000000007".parse().unwrap_or_default()), "acme/text");
        WhatIf {
            sentence: "1 waiting job would start now and 1 job would wait for something else".into(),
            changes: vec![],
            yaml: String::new(),
            starts: vec![WhatIfStart {
                id,
                name: "tune".into(),
                queue: queue.into(),
                cluster: "east".into(),
                sentence: "east has room for the job; no other cluster has".into(),
            }],
            starts_total: 3,
            waits: vec![WhatIfWait {
                id,
                name: "big".into(),
                queue: queue.into(),
                code_before: "QUOTA_EXHAUSTED".into(),
                code: "CLUSTER_FULL".into(),
                sentence: "east is full".into(),
            }],
            waits_total: 1,
            same: 0,
            stops: vec![],
            stops_total: 0,
            claims: vec![WhatIfClaim {
                queue: "acme/vision".into(),
                flavor: "h100".into(),
                resource: "gpu".into(),
                borrowed_before: 0,
                borrowed: 3,
                beyond: 1,
            }],
            claims_total: 1,
            queues: vec![
                WhatIfQueue {
                    name: queue.into(),
                    before: standing(0, gpus(4, 4, 0)),
                    after: standing(125, gpus(8, 9, 1)),
                },
                WhatIfQueue { name: "old".into(), before: standing(0, gpus(1, 0, 0)), after: None },
            ],
            queues_total: 2,
            as_of: Timestamp(0),
        }
    }

    #[test]
    fn jobs_loans_and_queues_are_told_before_and_after() {
        let view = View { now: Timestamp(0), colour: false, width: None };
        insta::assert_snapshot!(what_if(&example(), view), @r"
        1 waiting job would start now and 1 job would wait for something else

        would start now
          tune  of acme/text  on east: east has room for the job; no other cluster has
          and 2 more

        would wait for
          big  of acme/text  QUOTA_EXHAUSTED → CLUSTER_FULL: east is full

        would be on loan, which others may claim
          acme/vision  h100 gpu: 0 borrowed → 3; 1 above its limit, so nothing more starts there until it has ended

        QUEUE       FLAVOR   RESOURCE   NOMINAL    USED   BORROWED          SHARE
        acme/text   h100     gpu          4 → 8   4 → 9      0 → 1   0.0% → 12.5%
        old         h100     gpu          1 → -   0 → -      0 → -       0.0% → -
        ");
    }

    #[test]
    fn another_weight_of_a_flavor_stands_beside_its_name() {
        let mut told = example();
        let after = told.queues[0].after.as_mut().map(|side| &mut side.quotas[0]);
        after.into_iter().for_each(|line| line.flavor_weight = 4_000);
        let text = what_if(&told, View { now: Timestamp(0), colour: false, width: None });
        assert!(text.contains("acme/text   h100 → h100 ×4   gpu "), "{text}");
        assert!(text.contains("old         h100             gpu "), "{text}");
    }

    #[test]
    fn loans_and_queues_that_are_left_out_are_counted() {
        let view = View { now: Timestamp(0), colour: false, width: None };
        let text = what_if(&WhatIf { claims_total: 8, queues_total: 3, ..example() }, view);
        assert!(
            text.contains("has ended\n  and 7 more\n") && text.ends_with("\nand 1 more queue\n"),
            "{text}"
        );
    }

    #[test]
    fn a_terminal_of_80_columns_breaks_no_line() {
        let view = View { now: Timestamp(0), colour: false, width: Some(80) };
        let text = what_if(&example(), view);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("until it") && text.contains("0.0% → 12.5%"), "{text}");
    }
}
