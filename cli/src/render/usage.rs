//! Usage: rows, their sum, and whether the sum is the nodes' capacity cost.

use clap::ValueEnum;
use squadron_api::usage::{Usage, UsageRow};

use super::{
    list::json,
    money::{grouped, little},
    plain,
    style::Style,
    table::{Cell, Column, csv, left, right, table},
    time::absolute,
};

/// Formats of a usage report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum UsageFormat {
    /// Rows and their total for a person
    #[default]
    Table,
    /// Rows as RFC 4180 without the total, so that a sum over the column is the total
    Csv,
    /// The API object
    Json,
}

/// What rows may be told apart by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum By {
    Kind,
    Team,
    Job,
    Cluster,
}

impl By {
    pub fn word(self) -> &'static str {
        match self {
            By::Kind => "kind",
            By::Team => "team",
            By::Job => "job",
            By::Cluster => "cluster",
        }
    }

    fn column(self) -> Column {
        match self {
            By::Kind => left("KIND"),
            By::Team => left("TEAM"),
            By::Job => left("JOB"),
            By::Cluster => left("CLUSTER"),
        }
    }

    fn cell(self, row: &UsageRow) -> &str {
        match self {
            By::Kind => &row.kind,
            By::Team => &row.team,
            By::Job => &row.job,
            By::Cluster => &row.cluster,
        }
    }
}

/// The report in a format; `by` are the columns asked for, in their order.
pub fn usage(report: &Usage, by: &[By], format: UsageFormat, colour: bool) -> String {
    match format {
        UsageFormat::Json => json(report),
        UsageFormat::Csv => usage_csv(report, by),
        UsageFormat::Table => usage_table(report, by, colour),
    }
}

/// A row without team or job still belongs to a kind: say which, so that no line is anonymous.
fn with_kind(by: &[By]) -> Vec<By> {
    let mut columns = by.to_vec();
    if !columns.contains(&By::Kind) {
        columns.insert(0, By::Kind);
    }
    columns
}

fn usage_table(report: &Usage, by: &[By], colour: bool) -> String {
    let by = with_kind(by);
    let mut columns: Vec<Column> = by.iter().map(|key| key.column()).collect();
    columns.extend([right("CPU-HOURS"), right("GIB-HOURS"), right("GPU-HOURS"), right("AMOUNT")]);
    let mut rows: Vec<Vec<Cell>> = report.rows.iter().map(|row| shown(row, &by)).collect();
    let mut total = shown(&report.total, &by);
    total.iter_mut().for_each(|cell| cell.style = Style::Strong);
    total[0] = Cell::styled("total", Style::Strong);
    rows.push(total);
    format!(
        "{} to {} UTC, amounts in {}\n{}{}\n",
        absolute(report.from),
        absolute(report.to),
        if report.currency.is_empty() { "no currency" } else { &report.currency },
        table(&columns, &rows, colour),
        plain(&report.reconciliation),
    )
}

fn usage_csv(report: &Usage, by: &[By]) -> String {
    let by = with_kind(by);
    let amount = match report.currency.as_str() {
        "" => "amount".to_owned(),
        currency => format!("amount_{}", currency.to_lowercase()),
    };
    let measures =
        ["cpu_hours", "memory_gib_hours", "gpu_hours", amount.as_str(), "amount_exact"].map(str::to_owned);
    let titles = by.iter().map(|key| key.word().to_owned()).chain(measures);
    let rows: Vec<Vec<Cell>> = report
        .rows
        .iter()
        .map(|row| {
            let mut cells = cells(row, &by, str::to_owned);
            cells.push(row.amount_exact.as_str().into());
            cells
        })
        .collect();
    csv(titles, &rows)
}

/// A row for a person: thousands set apart, and little money never looks like none.
fn shown(row: &UsageRow, by: &[By]) -> Vec<Cell> {
    let mut cells = cells(row, by, grouped);
    if let Some(amount) = cells.last_mut() {
        *amount = little(&row.amount, &row.amount_exact).into();
    }
    cells
}

fn cells(row: &UsageRow, by: &[By], number: impl Fn(&str) -> String) -> Vec<Cell> {
    let keys = by.iter().map(|key| Cell::from(key.cell(row)));
    let measures = [&row.cpu_hours, &row.memory_gib_hours, &row.gpu_hours, &row.amount];
    keys.chain(measures.into_iter().map(|text| Cell::from(number(text)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::job::tests::NOW;

    fn row(kind: &str, team: &str, cpu: &str, amount: &str) -> UsageRow {
        UsageRow {
            kind: kind.into(),
            team: team.into(),
            cpu_hours: cpu.into(),
            memory_gib_hours: "2.000000".into(),
            gpu_hours: "0.000000".into(),
            amount: amount.into(),
            amount_exact: amount.replace('.', ""),
            ..UsageRow::default()
        }
    }

    fn report() -> Usage {
        Usage {
            from: NOW.plus_millis(-3_600_000),
            to: NOW,
            currency: "EUR".into(),
            rows: vec![
                row("team", "research", "1234.500000", "1234.56"),
                row("idle", "", "2.000000", "0.44"),
                UsageRow { amount_exact: "9".into(), ..row("shared", "", "0.000000", "0.00") },
            ],
            total: row("", "", "1236.500000", "1235.00"),
            capacity_amount: "1235.00".into(),
            reconciliation: "sum of rows equals the nodes' capacity cost".into(),
            notes: vec![],
        }
    }

    #[test]
    fn table_ends_with_total_and_proof() {
        insta::assert_snapshot!(usage(&report(), &[By::Team], UsageFormat::Table, false), @"
        2026-11-30T00:03:20Z to 2026-11-30T01:03:20Z UTC, amounts in EUR
        KIND     TEAM          CPU-HOURS   GIB-HOURS   GPU-HOURS     AMOUNT
        team     research   1,234.500000    2.000000    0.000000   1,234.56
        idle                    2.000000    2.000000    0.000000       0.44
        shared                  0.000000    2.000000    0.000000      <0.01
        total               1,236.500000    2.000000    0.000000   1,235.00
        sum of rows equals the nodes' capacity cost
        ");
    }

    #[test]
    fn csv_leaves_the_total_to_the_reader() {
        insta::assert_snapshot!(usage(&report(), &[By::Team], UsageFormat::Csv, false).replace('\r', ""), @"
        kind,team,cpu_hours,memory_gib_hours,gpu_hours,amount_eur,amount_exact
        team,research,1234.500000,2.000000,0.000000,1234.56,123456
        idle,,2.000000,2.000000,0.000000,0.44,044
        shared,,0.000000,2.000000,0.000000,0.00,9
        ");
    }
}
