//! A limit per address on what strangers may try: enrolments, so that nobody guesses codes, and names of clusters.
//!
//! Owns the counts. Invariant: at most so many calls of one address in a minute are looked at that were not, or not yet, found
//! to come from one who knows a code or holds a key; who is found to is not counted, so that a whole fleet may enrol from
//! behind one address. Fails by forgetting on a restart, which gives a guesser another minute's worth.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use squadron_core::time::Timestamp;

const PER_WINDOW: u32 = 60;
const WINDOW_MS: i64 = 60_000;
/// Addresses that are remembered at once.
const ADDRESSES: usize = 10_000;

/// Counts per address and minute. Cheap to clone.
#[derive(Clone, Default)]
pub struct Limit(Arc<Mutex<BTreeMap<IpAddr, (Timestamp, u32)>>>);

impl Limit {
    /// Whether the address may try once more.
    pub fn allows(&self, address: IpAddr, now: Timestamp) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= ADDRESSES {
            seen.retain(|_, (since, _)| now.millis_since(*since) < WINDOW_MS);
        }
        let (since, count) = seen.entry(address).or_insert((now, 0));
        if now.millis_since(*since) >= WINDOW_MS {
            (*since, *count) = (now, 0);
        }
        let allowed = *count < PER_WINDOW;
        *count += u32::from(allowed);
        allowed
    }

    /// The call was no guess: it is not counted.
    pub fn forgives(&self, address: IpAddr) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = seen.get_mut(&address) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a28_guessing_is_slow() {
        let limit = Limit::default();
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let allowed = (0..100).filter(|_| limit.allows(here, Timestamp(0))).count();
        assert_eq!(allowed, 60);
        assert!(limit.allows(there, Timestamp(0)));
        assert!(limit.allows(here, Timestamp::from_millis(WINDOW_MS)));
    }

    #[test]
    fn a_fleet_behind_one_address_enrols_while_a_guesser_there_does_not() {
        let (limit, here) = (Limit::default(), IpAddr::from([10, 0, 0, 1]));
        for _ in 0..500 {
            assert!(limit.allows(here, Timestamp(0)));
            limit.forgives(here);
        }
        let at_once = (0..100).filter(|_| limit.allows(here, Timestamp(0))).count();
        (0..at_once).for_each(|_| limit.forgives(here));
        let guesses = (0..100).filter(|_| limit.allows(here, Timestamp(0))).count();
        assert_eq!(guesses, 60);
    }
}
