//! Price: what a placement costs an hour, and a placement that costs no more than a job allows.
//!
//! Owns the search under a maximum. Nodes whose price the sheet in force does not tell do not count as room for a job with a
//! maximum. When the first packing costs too much, dearer nodes are left out until one does not. Invariant: what it finds
//! costs at most the maximum by the sheet. It may miss a packing that would, which makes a job wait.

use std::{cmp::Ordering, collections::BTreeSet};

use crate::{
    dispatch::{
        GangPart, Waiting,
        pack::{Kind, Limits, Packing},
        room::Room,
    },
    meter::{AMOUNT_UNIT, Price, Quantity, Rate, Sheet},
    placement::Face,
    preference::MaxPrice,
    resources::Resources,
    time::Timestamp,
};

/// Prices of an hour that are tried one after the other at most.
const MOST_LEVELS: usize = 16;

/// 10⁻⁴ of the currency in the unit of [`crate::meter::Amount`].
const PER_AMOUNT: i128 = AMOUNT_UNIT / 10_000;

const HOUR_MS: i64 = 3_600_000;

/// What nodes cost at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prices<'a> {
    pub(crate) sheet: Option<&'a Sheet>,
    pub(crate) now: Timestamp,
}

/// Why a job with a maximum found no place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Dear {
    NoSheet,
    /// The sheet is in this currency.
    Currency(String),
    /// No node that could hold it has a price.
    Unknown,
    /// The cheapest placement that was found, in 10⁻⁴ of the currency.
    Costs(i64),
    /// It does not fit, whatever it may cost.
    NoRoom,
}

/// Where a gang is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) room: &'a Room,
    pub(crate) kinds: &'a [Kind],
}

impl<'a> Prices<'a> {
    fn rate(&self, cluster: &str, face: &Face) -> Option<Rate> {
        let prices = self.sheet?.for_node(cluster, face.gpu_model());
        let in_force = |price: &&Price| price.from <= self.now && price.to.is_none_or(|to| self.now < to);
        prices.iter().find(in_force).map(|price| price.rate)
    }

    /// Places the job on this ground at a price that it may cost.
    pub(crate) fn pack(self, at: Ground<'_>, job: &Waiting, limits: &Limits) -> Result<Packing, Dear> {
        match &job.preferences.max_price {
            Some(most) => self.pack_below(at, &job.gang, limits, most),
            None => at.room.pack_within(at.kinds, &job.gang, limits).map_err(|_| Dear::NoRoom),
        }
    }

    /// A packing that costs at most `most` an hour.
    pub(crate) fn pack_below(
        &self,
        at: Ground<'_>,
        gang: &[GangPart],
        limits: &Limits,
        most: &MaxPrice,
    ) -> Result<Packing, Dear> {
        let sheet = self.sheet.ok_or(Dear::NoSheet)?;
        if sheet.currency != most.currency {
            return Err(Dear::Currency(sheet.currency.clone()));
        }
        at.room.pack_within(at.kinds, gang, limits).map_err(|_| Dear::NoRoom)?;
        let rates: Vec<Option<Rate>> = at.room.faces.iter().map(|face| self.rate(at.cluster, face)).collect();
        let mut levels: Vec<Rate> = rates.iter().flatten().copied().collect();
        levels.sort_by(dearer);
        levels.dedup_by(|a, b| dearer(a, b).is_eq());
        let mut cheapest = None;
        for level in levels.iter().rev().take(MOST_LEVELS) {
            let may = |rate: &Option<Rate>| rate.is_some_and(|rate| dearer(&rate, level).is_le());
            let open: BTreeSet<usize> =
                rates.iter().enumerate().filter(|(_, rate)| may(rate)).map(|(index, _)| index).collect();
            let Some(packing) = pack_on(at, &open, gang, limits) else { break };
            let cost = cost(at.room, &packing, &rates);
            if cost <= i128::from(most.amount) * PER_AMOUNT {
                return Ok(Packing { price: Some(rounded_up(cost)), ..packing });
            }
            cheapest = Some(cheapest.map_or(cost, |known: i128| known.min(cost)));
        }
        Err(cheapest.map_or(Dear::Unknown, |cost| Dear::Costs(rounded_up(cost))))
    }
}

/// The dearer GPU counts first, then the dearer core, then memory.
fn dearer(a: &Rate, b: &Rate) -> Ordering {
    (a.gpu_hour, a.cpu_hour, a.memory_gib_hour).cmp(&(b.gpu_hour, b.cpu_hour, b.memory_gib_hour))
}

/// A packing on the `open` nodes alone.
fn pack_on(at: Ground<'_>, open: &BTreeSet<usize>, gang: &[GangPart], limits: &Limits) -> Option<Packing> {
    let nothing = Resources { cpu_milli: -1, memory_bytes: -1, gpus: -1 };
    let mut room = at.room.clone();
    for (_, node) in room.nodes.iter_mut().enumerate().filter(|(index, _)| !open.contains(index)) {
        node.1 = nothing;
    }
    let mut packing = room.pack_within(at.kinds, gang, limits).ok()?;
    for (index, node) in packing.left.nodes.iter_mut().enumerate() {
        if !open.contains(&index) {
            node.1 = at.room.nodes[index].1;
        }
    }
    Some(packing)
}

/// What an hour of what was taken from the nodes costs, in the unit of an amount. Nodes without a rate are not used.
fn cost(room: &Room, packing: &Packing, rates: &[Option<Rate>]) -> i128 {
    let pairs = room.nodes.iter().zip(&packing.left.nodes).zip(rates);
    pairs
        .filter_map(|((before, after), rate)| Some(of_node(before.1 - after.1, (*rate)?)))
        .fold(0, i128::saturating_add)
}

fn of_node(taken: Resources, rate: Rate) -> i128 {
    Quantity::held(taken, HOUR_MS).cost(rate).map_or(i128::MAX, |amount| amount.0)
}

fn rounded_up(cost: i128) -> i64 {
    let up = cost.saturating_add(PER_AMOUNT - 1) / PER_AMOUNT;
    i64::try_from(up).unwrap_or(i64::MAX)
}

/// A placement's price as a job with a maximum is told it, for a cluster.
pub(crate) fn sentence(cluster: &str, most: &MaxPrice, dear: &Dear) -> (String, String) {
    let resubmit = "cancel the job and submit it with a higher --max-price or without one";
    match dear {
        Dear::NoSheet => (
            format!(
                "no price sheet is in force, so whether {cluster} costs at most {most} an hour is not known"
            ),
            "have one declared: squadron prices apply -f FILE; or submit the job without --max-price"
                .to_owned(),
        ),
        Dear::Currency(currency) => (
            format!("prices are in {currency}, and the job's maximum is {most}"),
            format!("cancel the job and submit it with a maximum in {currency}"),
        ),
        Dear::Unknown => (
            format!(
                "the price sheet has no price for nodes of {cluster} that would do, and the job may cost at most {most} an hour"
            ),
            format!(
                "have a price for {cluster} declared: squadron prices apply -f FILE; or submit the job without --max-price"
            ),
        ),
        Dear::Costs(amount) => (
            format!(
                "on {cluster} the job would cost {} an hour, and it may cost at most {most}",
                crate::preference::price(*amount, &most.currency)
            ),
            resubmit.to_owned(),
        ),
        Dear::NoRoom => (format!("{cluster} has no room for it at any price"), String::new()),
    }
}
