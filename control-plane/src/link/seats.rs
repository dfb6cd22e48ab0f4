//! Seats: how many streams one cluster may hold, so that one cluster cannot take the room of the others.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use squadron_core::id::ClusterId;

/// An agent needs two; the rest are connections that broke and were not noticed yet.
const PER_CLUSTER: usize = 16;

/// Counts streams by cluster. Cheap to clone.
#[derive(Clone, Default)]
pub struct Seats(Arc<Mutex<BTreeMap<ClusterId, usize>>>);

/// One stream's seat; free again when it is dropped.
pub struct Seat {
    cluster: ClusterId,
    seats: Seats,
}

impl Seats {
    /// A seat, unless the cluster holds all of its own.
    pub fn take(&self, cluster: ClusterId) -> Option<Seat> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(cluster).or_default();
        if *count >= PER_CLUSTER {
            return None;
        }
        *count += 1;
        Some(Seat { cluster, seats: self.clone() })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.cluster) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.cluster);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a59_a_cluster_holds_no_more_than_its_seats() {
        let (east, west) = (ClusterId(Uuid::from_u128(1)), ClusterId(Uuid::from_u128(2)));
        let seats = Seats::default();
        let held: Vec<_> = (0..100).filter_map(|_| seats.take(east)).collect();
        assert_eq!(held.len(), PER_CLUSTER);
        assert!(seats.take(west).is_some());
        drop(held);
        assert!(seats.take(east).is_some());
    }
}
