//! A report's rows as people asked for them: grouped, rounded so that they sum.

use std::collections::BTreeMap;

use squadron_api::{
    error::Code,
    usage::{Usage, UsageRow},
};
use squadron_core::{
    meter::{AMOUNT_UNIT, Column, Priced, Report, RowKey, TooLarge, minor_digits},
    time::Timestamp,
};

use crate::http::error::{Api, Result};

/// Columns that rows are told apart by, besides their kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Groups {
    pub(super) team: bool,
    pub(super) job: bool,
    pub(super) cluster: bool,
}

/// Reads `by`.
pub(super) fn groups(by: Option<&str>) -> Result<Groups> {
    let mut groups = Groups::default();
    for word in by.unwrap_or("kind").split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "kind" => {}
            "team" => groups.team = true,
            "job" => groups.job = true,
            "cluster" => groups.cluster = true,
            other => {
                return Err(Api::new(
                    Code::BadRequest,
                    format!("usage cannot be grouped by {other:?}"),
                    "group by kind, team, job or cluster, separated by commas",
                ));
            }
        }
    }
    Ok(groups)
}

/// More digits of a sum that is smaller than one unit of the currency: small jobs would all be 0.00.
const MORE_DIGITS: u32 = 4;

/// The money column of a currency; two digits without one.
pub(super) fn money(currency: &str, total: i128) -> Column {
    let digits = minor_digits(currency).unwrap_or(2);
    Column::money(if (1..AMOUNT_UNIT).contains(&total) { digits + MORE_DIGITS } else { digits })
}

/// The report without its time span and notes. `names` are the jobs that are shown by name instead of id.
pub(super) fn show(
    report: &Report,
    groups: Groups,
    names: &BTreeMap<String, String>,
    currency: &str,
) -> std::result::Result<Usage, TooLarge> {
    let mut sums: BTreeMap<RowKey, Priced> = BTreeMap::new();
    let mut total = Priced::default();
    for (key, row) in &report.rows {
        sums.entry(narrowed(key, groups, names)).or_default().add(*row)?;
        total.add(*row)?;
    }
    sums.retain(|_, row| *row != Priced::default());
    let money = money(currency, total.amount.0);
    let (rows, total_row) = round(&sums, money, names)?;
    let capacity_amount = money.apportion(&[report.capacity.amount.0])?.1;
    Ok(Usage {
        from: Timestamp(0),
        to: Timestamp(0),
        currency: currency.to_owned(),
        reconciliation: reconciliation(&total, &report.capacity, &capacity_amount, currency),
        rows,
        total: total_row,
        capacity_amount,
        notes: Vec::new(),
    })
}

fn narrowed(key: &RowKey, groups: Groups, names: &BTreeMap<String, String>) -> RowKey {
    let keep = |wanted: bool, text: &String| if wanted { text.clone() } else { String::new() };
    RowKey {
        kind: key.kind,
        cluster: keep(groups.cluster, &key.cluster),
        team: keep(groups.team, &key.team),
        job: keep(groups.job, names.get(&key.job).unwrap_or(&key.job)),
    }
}

fn round(
    sums: &BTreeMap<RowKey, Priced>,
    money: Column,
    names: &BTreeMap<String, String>,
) -> std::result::Result<(Vec<UsageRow>, UsageRow), TooLarge> {
    let column = |column: Column, of: fn(&Priced) -> i128| {
        column.apportion(&sums.values().map(of).collect::<Vec<_>>())
    };
    let (cpu, cpu_total) = column(Column::CPU_HOURS, |row| row.quantity.cpu_milli_ms)?;
    let (memory, memory_total) = column(Column::MEMORY_GIB_HOURS, |row| row.quantity.memory_byte_ms)?;
    let (gpu, gpu_total) = column(Column::GPU_HOURS, |row| row.quantity.gpu_ms)?;
    let (amount, amount_total) = column(money, |row| row.amount.0)?;
    let ids: BTreeMap<&str, &str> = names.iter().map(|(id, name)| (name.as_str(), id.as_str())).collect();
    let cells = cpu.into_iter().zip(memory).zip(gpu).zip(amount);
    let rows = sums.iter().zip(cells).map(|((key, row), (((cpu, memory), gpu), amount))| UsageRow {
        kind: key.kind.word().to_owned(),
        team: key.team.clone(),
        job: key.job.clone(),
        job_id: ids.get(key.job.as_str()).map_or(key.job.as_str(), |id| id).to_owned(),
        cluster: key.cluster.clone(),
        cpu_hours: cpu,
        memory_gib_hours: memory,
        gpu_hours: gpu,
        amount,
        amount_exact: row.amount.0.to_string(),
    });
    let total = UsageRow {
        cpu_hours: cpu_total,
        memory_gib_hours: memory_total,
        gpu_hours: gpu_total,
        amount: amount_total,
        amount_exact: sums.values().map(|row| row.amount.0).sum::<i128>().to_string(),
        ..UsageRow::default()
    };
    Ok((rows.collect(), total))
}

/// Whether the rows are the whole, said with the numbers.
fn reconciliation(total: &Priced, capacity: &Priced, capacity_amount: &str, currency: &str) -> String {
    if total == capacity {
        format!("team + shared + overhead + idle = {capacity_amount} {currency}, the cost of the nodes' capacity, exactly")
            .replace("  ", " ")
            .replace(" ,", ",")
    } else {
        format!(
            "the rows do not sum to the nodes' capacity: {} against {}; please report this as an error of the meter",
            total.amount.0, capacity.amount.0
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use squadron_core::{
        meter::{NodeSpan, Owner, PodSpan, Sheet, usage},
        resources::Resources,
    };

    fn report() -> Report {
        let size = Resources { cpu_milli: 4_000, memory_bytes: 8 << 30, gpus: 0 };
        let node = NodeSpan {
            cluster: "east".into(),
            uid: "n".into(),
            name: "n1".into(),
            gpu_model: String::new(),
            capacity: size,
            allocatable: size,
            from: Timestamp(0),
            to: None,
        };
        let pod = |uid: &str, team: &str| PodSpan {
            cluster: "east".into(),
            uid: uid.into(),
            node: "n1".into(),
            requests: Resources { cpu_milli: 1_000, ..Resources::default() },
            from: Timestamp(0),
            to: None,
            owner: Owner::Job { team: team.into(), job: format!("id-{uid}") },
        };
        let sheet = Sheet::parse(
            "{name: d, currency: EUR, prices: [{cluster: '*', from: 1970-01-01, cpu_hour: 0.1, memory_gib_hour: 0, gpu_hour: 0}]}",
        );
        let hour = Timestamp::from_millis(3_600_000);
        usage(&[node], &[pod("a", "x"), pod("b", "x")], Some(&sheet.unwrap()), Timestamp(0), hour).unwrap()
    }

    #[test]
    fn rows_are_grouped_named_and_sum_to_the_capacity() {
        let names = [("id-a".to_owned(), "train".to_owned())].into();
        let shown = show(&report(), groups(Some("team,job")).unwrap(), &names, "EUR").unwrap();
        let rows: Vec<String> = shown
            .rows
            .iter()
            .map(|row| format!("{} {} {} {}", row.kind, row.team, row.job, row.amount))
            .collect();
        assert_eq!(rows, ["team x id-b 0.100000", "team x train 0.100000", "idle   0.200000"]);
        assert_eq!((shown.total.amount.as_str(), shown.capacity_amount.as_str()), ("0.400000", "0.400000"));
        assert_eq!(
            shown.reconciliation,
            "team + shared + overhead + idle = 0.400000 EUR, the cost of the nodes' capacity, exactly"
        );
        assert_eq!(show(&report(), Groups::default(), &names, "EUR").unwrap().rows[0].amount, "0.200000");
        assert_eq!([shown.rows[1].job_id.as_str(), &shown.rows[2].job_id], ["id-a", ""]);
        let whole = |total| money("EUR", total).apportion(&[AMOUNT_UNIT / 250, total]).unwrap().0;
        assert_eq!(
            (whole(AMOUNT_UNIT - 1).remove(0), whole(AMOUNT_UNIT).remove(0)),
            ("0.004000".into(), "0.00".into())
        );
        assert!(groups(Some("colour")).is_err());
    }
}
