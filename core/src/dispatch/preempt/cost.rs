//! Cost: how long a job is left alone, what a stop loses, and who of those chosen may stay after all.
//!
//! Shared by the live dispatcher and the book of replays, so that both mean the same by it.

use std::cmp::Reverse;

use crate::{dispatch::Held, time::Timestamp};

/// Getting a stopped job going again, in milliseconds: it counts as lost as well.
const RESTART_MS: u64 = 60_000;
/// A job that resumes writes checkpoints at least so often, in milliseconds. When it wrote the last one is not told.
const CHECKPOINT_EVERY_MS: u64 = 1_800_000;

/// How long an attempt runs at least before it may be stopped: `base`, doubled with every stop that its job suffered.
pub(crate) fn protected(base: u64, stops: u32) -> u64 {
    base.saturating_mul(1 << stops.min(20))
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

/// Milliseconds of work that would have to be done again.
pub(super) fn again(held: &Held, now: Timestamp) -> u64 {
    let ran = held.stake.began.map_or(0, |_| age(held, now));
    if held.stake.resumes { ran.min(CHECKPOINT_EVERY_MS) } else { ran }
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

    #[test]
    fn the_dearest_is_spared_first_and_no_more_than_can_be() {
        let chosen =
            spare(vec![5, 1, 9, 3], |cost| *cost, |rest, _| Ok::<_, ()>(rest.iter().sum::<i32>() >= 8));
        assert_eq!(chosen, Ok(vec![5, 3]));
        assert_eq!(spare(vec![2, 2], |cost| *cost, |rest, _| Ok::<_, ()>(rest.len() > 1)), Ok(vec![2, 2]));
        assert_eq!(spare(vec![2, 7], |cost| *cost, |_, spared| Err::<bool, _>(*spared)), Err(7));
    }

    #[test]
    fn protection_doubles_and_never_overflows() {
        assert_eq!((protected(10, 0), protected(10, 3), protected(u64::MAX, 99)), (10, 80, u64::MAX));
    }
}
