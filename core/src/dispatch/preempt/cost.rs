//! Cost: how long a job is left alone, what a stop loses, and who of those chosen may stay after all.
//!
//! Shared by the live dispatcher and the book of replays, so that both mean the same by it.

use std::cmp::Reverse;

use crate::{
    dispatch::{Held, owed::Account},
    time::Timestamp,
};

/// Getting a stopped job going again, in milliseconds: it counts as lost as well.
const RESTART_MS: u64 = 60_000;

/// A job that lost all it did so often, so that a guarantee was kept, is left to end: most of what stops lose is lost by a few
/// jobs that are stopped again and again.
pub(crate) const MOST_STOPS: u32 = 4;

/// How long an attempt runs at least before it may be stopped: `base`, doubled with every stop that its job suffered.
pub(crate) fn protected(base: u64, stops: u32) -> u64 {
    base.saturating_mul(1 << stops.min(20))
}

/// What a stop may cost where whoever waits can be asked for a little patience.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Work that a stop loses counts so much against what the waiting head missed, in thousandths: at 50, an hour of lost work
    /// is worth three minutes of waiting.
    pub price: i128,
    /// Only borrowers that are expected to run on for at least so many milliseconds are stopped. One that has outlived what was
    /// expected of it may end any time, and is spared.
    pub lasting_ms: u64,
    /// The missing part of what a tenant was owed, in thousandths, from which on it waits for neither.
    pub tolerance: i64,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { price: 50, lasting_ms: 4 * 3_600_000, tolerance: 50 }
    }
}

impl Patience {
    /// Whether what was missed is worth what would be lost, both in thousandths of a GPU times milliseconds.
    pub(crate) fn is_worth(self, lost: i128, missed: i128) -> bool {
        lost.saturating_mul(self.price) <= missed.saturating_mul(1_000)
    }

    /// Whether what is expected to run so long, and has run so long, should hold its room for long.
    pub(crate) fn lasts(self, expected_ms: u64, ran_ms: u64) -> bool {
        expected_ms.saturating_sub(ran_ms) >= self.lasting_ms
    }

    /// Whether a tenant with this account was below its guarantee for too much of what it was owed.
    pub(crate) fn is_wronged(self, account: &Account) -> bool {
        account.error() >= self.tolerance
    }
}

/// Spares whom it can, the dearest first: `enough` says whether the others are enough without the one that it is given.
pub(crate) fn spare<V, K: Ord, E>(
    mut chosen: Vec<V>,
    cost: impl Fn(&V) -> K,
    mut enough: impl FnMut(&[V], &V) -> Result<bool, E>,
) -> Result<Vec<V>, E> {
    chosen.sort_by_key(|victim| Reverse(cost(victim)));
    let mut at = 0;
    while at < chosen.len() {
        let spared = chosen.remove(at);
        if !enough(&chosen, &spared)? {
            chosen.insert(at, spared);
            at += 1;
        }
    }
    Ok(chosen)
}

/// Milliseconds since the attempt began to run, or since it was assigned if it does not run.
pub(super) fn age(held: &Held, now: Timestamp) -> u64 {
    let since = held.stake.began.unwrap_or(held.assigned_at);
    u64::try_from(now.millis_since(since)).unwrap_or(0)
}

/// Milliseconds of work that would have to be done again: since the last checkpoint if the job goes on from it, since the
/// beginning if nobody said when it wrote one.
pub(super) fn again(held: &Held, now: Timestamp) -> u64 {
    let Some(began) = held.stake.began else { return 0 };
    let saved = held.stake.saved.filter(|_| held.stake.resumes);
    u64::try_from(now.millis_since(saved.map_or(began, |saved| saved.max(began)))).unwrap_or(0)
}

/// Whether the attempt's job was stopped so often, and had to begin again each time, that it is left to end.
pub(super) fn is_left_to_end(held: &Held) -> bool {
    let goes_on = held.stake.resumes && held.stake.saved.is_some();
    held.stake.stops >= MOST_STOPS && !goes_on
}

/// Work that a stop loses, in thousandths of a GPU times milliseconds. A core counts as the 64th part of a GPU.
pub(super) fn lost(held: &Held, now: Timestamp) -> i128 {
    let asked = crate::dispatch::gang_total(&held.gang);
    let size = i128::from(asked.gpus) * 1_000 + i128::from(asked.cpu_milli) / 64;
    i128::from(again(held, now).saturating_add(RESTART_MS)) * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::{Stake, policy_tests::held_by};

    #[test]
    fn the_dearest_is_spared_first_and_no_more_than_can_be() {
        let chosen =
            spare(vec![5, 1, 9, 3], |cost| *cost, |rest, _| Ok::<_, ()>(rest.iter().sum::<i32>() >= 8));
        assert_eq!(chosen, Ok(vec![5, 3]));
        assert_eq!(spare(vec![2, 2], |cost| *cost, |rest, _| Ok::<_, ()>(rest.len() > 1)), Ok(vec![2, 2]));
        assert_eq!(spare(vec![2, 7], |cost| *cost, |_, spared| Err::<bool, _>(*spared)), Err(7));
    }

    #[test]
    fn what_is_lost_is_what_was_not_saved_and_the_unknown_counts_in_full() {
        let at = |minutes: i64| Timestamp(minutes * 60_000_000);
        let lost = |began: Option<i64>, saved: Option<i64>, resumes: bool| {
            let stake = Stake { began: began.map(at), saved: saved.map(at), resumes, ..Stake::default() };
            again(&Held { stake, ..held_by(1, "a", 1) }, at(100)) / 60_000
        };
        assert_eq!(lost(Some(40), None, true), 60, "nobody said when it saved");
        assert_eq!(lost(Some(40), Some(93), true), 7);
        assert_eq!(lost(Some(40), Some(93), false), 60, "it begins anew whatever it saved");
        assert_eq!(lost(Some(40), Some(20), true), 60, "another attempt saved that");
        assert_eq!(lost(Some(40), Some(130), true), 0, "no gain comes from the future");
        assert_eq!(lost(None, Some(93), true), 0, "it does not run yet");
    }

    #[test]
    fn protection_doubles_and_never_overflows() {
        assert_eq!((protected(10, 0), protected(10, 3), protected(u64::MAX, 99)), (10, 80, u64::MAX));
    }
}
