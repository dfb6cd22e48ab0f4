//! A limit per address on what strangers may try: enrolments, so that nobody guesses codes, and names of clusters.

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
        *count += 1;
        *count <= PER_WINDOW
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
}
