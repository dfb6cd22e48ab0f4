//! The tree of queues with what each has, uses, borrows and lends; on a narrow terminal as lines instead of columns.

use squadron_api::queue::{Queue, QueueQuota};
use squadron_core::quota::ORDINARY;

use super::{
    View,
    amount::{cores, memory, resources},
    fit::clipped,
    plain,
    style::Style,
    table::{Cell, Column, left, right, table},
};

const COLUMNS: &[Column] = &[
    left("QUEUE"),
    right("WAITING"),
    right("RUNNING"),
    right("WEIGHT"),
    right("SHARE"),
    right("USED LATELY"),
    left("FLAVOR"),
    left("RESOURCE"),
    right("NOMINAL"),
    right("USED"),
    right("BORROWED"),
    right("LENT"),
];

/// Columns below which lines are easier to read.
const NARROW: usize = 100;

/// All queues; the server lists parents before their children.
pub fn tree(queues: &[Queue], view: View) -> String {
    if queues.is_empty() {
        return String::new();
    }
    if view.width.is_some_and(|width| width < NARROW) {
        return clipped(
            &queues.iter().map(|queue| narrow(queue, view.colour)).collect::<String>(),
            view.width,
        );
    }
    let rows: Vec<Vec<Cell>> = queues.iter().flat_map(rows).collect();
    clipped(&table(COLUMNS, &rows, view.colour), view.width)
}

/// A queue's first row has what is said of the queue; one row follows for each further flavor and resource.
fn rows(queue: &Queue) -> Vec<Vec<Cell>> {
    let mut rows: Vec<Vec<Cell>> = queue.quotas.iter().map(amounts).collect();
    if rows.is_empty() {
        let held = resources(queue.used);
        rows.push(vec!["not limited".into(), "".into(), "".into(), held.into(), "".into(), "".into()]);
    }
    let blank = || vec![Cell::from(""); 6];
    let mut heads = vec![head(queue)];
    heads.resize_with(rows.len(), blank);
    heads.into_iter().zip(rows).map(|(head, row)| head.into_iter().chain(row).collect()).collect()
}

fn head(queue: &Queue) -> Vec<Cell> {
    // A cell trims what it is given, so the indent is drawn.
    let name = format!("{}{}", indent(queue), plain(&queue.name));
    vec![
        name.into(),
        waiting(queue),
        queue.running.to_string().into(),
        decimal(i64::from(queue.weight)).into(),
        share(queue).into(),
        lately(queue).into(),
    ]
}

fn indent(queue: &Queue) -> String {
    match queue.depth {
        0 => String::new(),
        depth => format!("{}└ ", "· ".repeat(depth as usize - 1)),
    }
}

fn waiting(queue: &Queue) -> Cell {
    let style = if queue.queued > 0 { Style::Waiting } else { Style::Normal };
    Cell::styled(&queue.queued.to_string(), style)
}

fn amounts(quota: &QueueQuota) -> Vec<Cell> {
    let show = |amount| amount_of(&quota.resource, amount);
    let borrowed = if quota.borrowed.is_some_and(|amount| amount > 0) { Style::Busy } else { Style::Normal };
    vec![
        flavor(quota).into(),
        quota.resource.as_str().into(),
        show(Some(quota.total)).into(),
        show(quota.used).into(),
        Cell::styled(&show(quota.borrowed), borrowed),
        show(quota.lent).into(),
    ]
}

/// With its weight where that is not 1: `h100 ×4`.
pub fn flavor(quota: &QueueQuota) -> String {
    match quota.flavor_weight {
        ORDINARY => quota.flavor.clone(),
        weight => format!("{} ×{}", quota.flavor, decimal(i64::from(weight))),
    }
}

/// In the unit of the resource.
pub fn amount_of(resource: &str, amount: Option<i64>) -> String {
    match (amount, resource) {
        (None, _) => "unknown".to_owned(),
        (Some(amount), "cpu") => cores(amount),
        (Some(amount), "memory") => memory(amount),
        (Some(amount), _) => amount.to_string(),
    }
}

/// Thousandths without noise: `1`, `0.5`.
fn decimal(thousandths: i64) -> String {
    cores(thousandths)
}

/// Thousandths as per cent.
pub fn percent(share: i64) -> String {
    format!("{}.{}%", share / 10, share % 10)
}

/// The weighted share in per cent; a root has none.
fn share(queue: &Queue) -> String {
    match queue.share {
        Some(share) => percent(share),
        None if queue.parent.is_none() => "-".to_owned(),
        None => "unknown".to_owned(),
    }
}

/// What it used in the last days, in GPU hours of an ordinary flavor, older use with less weight.
fn lately(queue: &Queue) -> String {
    let tenths = queue.used_lately / 360;
    format!("{}.{} GPU-h", tenths / 10, tenths % 10)
}

/// One line for the queue, one for each flavor and resource.
fn narrow(queue: &Queue, colour: bool) -> String {
    let depth = "  ".repeat(queue.depth as usize);
    let name = Style::Strong.paint(&plain(&queue.name), colour);
    let mut text = format!("{depth}{name}  {} waiting, {} running", queue.queued, queue.running);
    if queue.parent.is_some() {
        text.push_str(&format!(", weight {}, share {}", decimal(i64::from(queue.weight)), share(queue)));
    }
    text.push('\n');
    if queue.used_lately > 0 {
        text.push_str(&format!("{depth}  used lately: {}\n", lately(queue)));
    }
    if queue.quotas.is_empty() {
        text.push_str(&format!("{depth}  not limited, uses {}\n", resources(queue.used)));
    }
    for quota in &queue.quotas {
        let show = |amount| amount_of(&quota.resource, amount);
        let mut line = format!(
            "{depth}  {} {}: {} of {}",
            plain(&flavor(quota)),
            plain(&quota.resource),
            show(quota.used),
            show(Some(quota.total))
        );
        for (word, amount) in [("borrowed", quota.borrowed), ("lent", quota.lent)] {
            if amount.is_some_and(|amount| amount > 0) {
                line.push_str(&format!(", {} {word}", show(amount)));
            }
        }
        text.push_str(&format!("{line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use squadron_core::{resources::Resources, time::Timestamp};

    use super::*;

    fn view(width: Option<usize>) -> View {
        View { now: Timestamp(0), colour: false, width }
    }

    fn queue(name: &str, depth: u32, share: Option<i64>, quotas: Vec<QueueQuota>) -> Queue {
        Queue {
            name: name.into(),
            queued: 2 * depth,
            running: depth,
            template: String::new(),
            on_lost: String::new(),
            allows_overlap: false,
            parent: (depth > 0).then(|| "acme".to_owned()),
            depth,
            weight: 1_500,
            used: Resources { cpu_milli: 500, memory_bytes: 1 << 30, gpus: 0 },
            share,
            used_lately: 5_400 * u64::from(depth),
            quotas,
        }
    }

    fn quota(resource: &str, total: i64, used: Option<i64>, lent: Option<i64>) -> QueueQuota {
        QueueQuota {
            flavor: "h100".into(),
            flavor_weight: if resource == "cpu" { 2_500 } else { ORDINARY },
            resource: resource.into(),
            declared: true,
            nominal: 0,
            total,
            borrowing_limit: None,
            lending_limit: None,
            used,
            borrowed: used.map(|used| (used - total).max(0)),
            lent,
        }
    }

    fn queues() -> Vec<Queue> {
        vec![
            queue("acme", 0, None, vec![quota("gpu", 16, Some(12), Some(0))]),
            queue(
                "text",
                1,
                Some(250),
                vec![quota("cpu", 8_000, Some(2_500), Some(1_000)), quota("gpu", 8, Some(12), Some(0))],
            ),
            queue("vision", 1, None, vec![quota("memory", 8 << 30, None, None)]),
            queue("team", 2, Some(0), vec![quota("gpu", 8, Some(0), Some(4))]),
            queue("default", 0, None, vec![]),
        ]
    }

    #[test]
    fn the_tree_stands_in_columns() {
        insta::assert_snapshot!(tree(&queues(), view(None)), @"
        QUEUE      WAITING   RUNNING   WEIGHT     SHARE   USED LATELY   FLAVOR        RESOURCE   NOMINAL             USED   BORROWED      LENT
        acme             0         0      1.5         -     0.0 GPU-h   h100          gpu             16               12          0         0
        └ text           2         1      1.5     25.0%     1.5 GPU-h   h100 ×2.5     cpu              8              2.5          0         1
                                                                        h100          gpu              8               12          4         0
        └ vision         2         1      1.5   unknown     1.5 GPU-h   h100          memory       8 GiB          unknown    unknown   unknown
        · └ team         4         2      1.5      0.0%     3.0 GPU-h   h100          gpu              8                0          0         4
        default          0         0      1.5         -     0.0 GPU-h   not limited                        0.5 CPU, 1 GiB
        ");
    }

    #[test]
    fn a_narrow_terminal_gets_lines() {
        let text = tree(&queues(), view(Some(60)));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        insta::assert_snapshot!(text, @"
        acme  0 waiting, 0 running
          h100 gpu: 12 of 16
          text  2 waiting, 1 running, weight 1.5, share 25.0%
            used lately: 1.5 GPU-h
            h100 ×2.5 cpu: 2.5 of 8, 1 lent
            h100 gpu: 12 of 8, 4 borrowed
          vision  2 waiting, 1 running, weight 1.5, share unknown
            used lately: 1.5 GPU-h
            h100 memory: unknown of 8 GiB
            team  4 waiting, 2 running, weight 1.5, share 0.0%
              used lately: 3.0 GPU-h
              h100 gpu: 0 of 8, 4 lent
        default  0 waiting, 0 running
          not limited, uses 0.5 CPU, 1 GiB
        ");
    }
}
