//! Price sheets: YAML in, intervals without gap or overlap out.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    meter::{Rate, currency::minor_digits, overlap},
    name::{ClusterName, K8sName},
    nesting,
    time::Timestamp,
};

/// Bytes of a sheet at most.
const MAX_BYTES: usize = 256 * 1024;
/// Prices of a sheet at most.
const MAX_PRICES: usize = 1_000;
/// Most that one unit may cost for an hour, in the currency.
const MAX_PRICE: i64 = 10_000;
/// Decimals of a price at most; one unit of the last is the unit that prices are kept in.
const DECIMALS: usize = 10;

/// Prices in force, by cluster and GPU model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sheet {
    pub name: String,
    /// ISO 4217.
    pub currency: String,
    /// Intervals in the order of time, per cluster (`*` for all others) and GPU model (empty for all others).
    pub prices: BTreeMap<(String, String), Vec<Price>>,
}

/// A price and when it is in force: `[from, to)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Price {
    /// Place in the sheet, from 0.
    pub index: usize,
    pub from: Timestamp,
    /// None means until further notice.
    pub to: Option<Timestamp>,
    pub rate: Rate,
}

/// Why a sheet is refused: every problem that was found.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", first(problems))]
pub struct BadSheet {
    /// Never empty.
    pub problems: Vec<SheetProblem>,
}

/// One problem and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SheetProblem {
    /// For example `prices[2].cpu_hour`, or `line 7` where the text cannot be read.
    pub path: String,
    /// One sentence.
    pub problem: String,
}

fn first(problems: &[SheetProblem]) -> String {
    let Some(first) = problems.first() else { return String::new() };
    let more = match problems.len() {
        0 | 1 => String::new(),
        number => format!(" (and {} more)", number - 1),
    };
    format!("{}: {}{more}", first.path, first.problem)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSheet {
    name: String,
    currency: String,
    prices: Vec<RawPrice>,
}

/// Numbers stay text, because a binary float cannot hold most prices.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    cluster: String,
    #[serde(default)]
    gpu_model: String,
    from: String,
    #[serde(default)]
    to: Option<String>,
    cpu_hour: String,
    memory_gib_hour: String,
    gpu_hour: String,
}

impl Sheet {
    /// Reads a sheet, or says everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Sheet, BadSheet> {
        if text.len() > MAX_BYTES {
            return Err(refuse("line 1", format!("the sheet is larger than {MAX_BYTES} bytes")));
        }
        nesting::check(text).map_err(|bad| refuse(&format!("line {}", bad.line), bad.problem))?;
        let raw: RawSheet = serde_yaml_ng::from_str(text).map_err(|error| unreadable(&error))?;
        let mut problems = check_head(&raw);
        let prices = check_prices(&raw.prices, &mut problems);
        problems.extend(overlap::problems(&prices));
        if problems.is_empty() {
            Ok(Sheet { name: raw.name, currency: raw.currency, prices })
        } else {
            Err(BadSheet { problems })
        }
    }

    /// The intervals that hold for a node: the most special of cluster and model, then cluster, model, all.
    pub fn for_node(&self, cluster: &str, gpu_model: &str) -> &[Price] {
        let keys = [(cluster, gpu_model), (cluster, ""), ("*", gpu_model), ("*", "")];
        keys.iter()
            .find_map(|(cluster, model)| self.prices.get(&((*cluster).to_owned(), (*model).to_owned())))
            .map_or(&[], Vec::as_slice)
    }

    /// How many intervals the sheet has.
    pub fn intervals(&self) -> usize {
        self.prices.values().map(Vec::len).sum()
    }
}

fn refuse(path: &str, problem: String) -> BadSheet {
    BadSheet { problems: vec![SheetProblem { path: path.to_owned(), problem }] }
}

fn unreadable(error: &serde_yaml_ng::Error) -> BadSheet {
    let line = error.location().map_or(1, |location| location.line());
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or(&text);
    refuse(&format!("line {line}"), crate::sentence::clip(what, 300))
}

fn problem(path: String, problem: impl Into<String>) -> SheetProblem {
    SheetProblem { path, problem: problem.into() }
}

fn check_head(raw: &RawSheet) -> Vec<SheetProblem> {
    let mut problems = Vec::new();
    if let Err(bad) = K8sName::new(raw.name.clone()) {
        problems.push(problem("name".to_owned(), bad.to_string()));
    }
    if minor_digits(&raw.currency).is_none() {
        let text = crate::sentence::clip(&raw.currency, 20);
        problems.push(problem(
            "currency".to_owned(),
            format!("{text:?} is no ISO 4217 code known here; write for example EUR or USD"),
        ));
    }
    if raw.prices.is_empty() {
        problems.push(problem("prices".to_owned(), "the sheet has no price"));
    }
    if raw.prices.len() > MAX_PRICES {
        problems.push(problem("prices".to_owned(), format!("the sheet has more than {MAX_PRICES} prices")));
    }
    problems
}

fn check_prices(
    raw: &[RawPrice],
    problems: &mut Vec<SheetProblem>,
) -> BTreeMap<(String, String), Vec<Price>> {
    let mut prices: BTreeMap<(String, String), Vec<Price>> = BTreeMap::new();
    for (index, each) in raw.iter().enumerate().take(MAX_PRICES) {
        match check_price(index, each) {
            Ok(price) => {
                prices.entry((each.cluster.clone(), each.gpu_model.clone())).or_default().push(price);
            }
            Err(found) => problems.extend(found),
        }
    }
    for intervals in prices.values_mut() {
        intervals.sort_by_key(|price| (price.from, price.index));
    }
    prices
}

fn check_price(index: usize, raw: &RawPrice) -> Result<Price, Vec<SheetProblem>> {
    let mut problems = Vec::new();
    let mut at = |field: &str, what: String| problems.push(problem(format!("prices[{index}].{field}"), what));
    if raw.cluster != "*" {
        ClusterName::new(raw.cluster.clone())
            .map(|_| ())
            .unwrap_or_else(|bad| at("cluster", bad.to_string()));
    }
    if raw.gpu_model.len() > 100 || raw.gpu_model.chars().any(char::is_control) {
        at("gpu_model", "the GPU model is longer than 100 bytes or holds control characters".to_owned());
    }
    let from = time(&raw.from).unwrap_or_else(|what| {
        at("from", what);
        Timestamp(0)
    });
    let to = raw.to.as_deref().map(time).transpose().unwrap_or_else(|what| {
        at("to", what);
        None
    });
    if to.is_some_and(|to| to <= from) {
        at(
            "to",
            format!(
                "the interval is empty: it ends at {}, not after its start {from}",
                raw.to.as_deref().unwrap_or("")
            ),
        );
    }
    let mut price = |field: &str, text: &str| {
        price(text).unwrap_or_else(|what| {
            at(field, what);
            0
        })
    };
    let rate = Rate {
        cpu_hour: price("cpu_hour", &raw.cpu_hour),
        memory_gib_hour: price("memory_gib_hour", &raw.memory_gib_hour),
        gpu_hour: price("gpu_hour", &raw.gpu_hour),
    };
    if problems.is_empty() { Ok(Price { index, from, to, rate }) } else { Err(problems) }
}

/// RFC 3339, or a date for its midnight in UTC; whole milliseconds.
fn time(text: &str) -> Result<Timestamp, String> {
    let bad = || {
        format!("{:?} is no time; write 2026-01-01 or 2026-01-01T00:00:00Z", crate::sentence::clip(text, 40))
    };
    let full = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let parsed: Timestamp = full.parse().map_err(|_| bad())?;
    if parsed != Timestamp::from_millis(parsed.millis()) {
        return Err(format!("{text:?} is finer than a millisecond"));
    }
    Ok(parsed)
}

/// A price in 10⁻¹⁰ of the currency.
fn price(text: &str) -> Result<i64, String> {
    let shown = crate::sentence::clip(text, 40);
    if text.starts_with('-') {
        return Err(format!("{shown} is negative; a price is zero or more"));
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
        return Err(format!("{shown:?} is no decimal number; write for example 0.0315"));
    }
    if fraction.len() > DECIMALS {
        return Err(format!("{shown} has {} decimals; at most {DECIMALS} are kept", fraction.len()));
    }
    let scaled = format!("{whole}{fraction:0<DECIMALS$}");
    let value: i64 =
        scaled.parse().ok().filter(|value| *value <= MAX_PRICE * 10_i64.pow(10)).ok_or_else(|| {
            format!("{shown} is more than {MAX_PRICE} for an hour, which is taken for a mistake")
        })?;
    Ok(value)
}
