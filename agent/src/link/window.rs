//! Window: what is in flight on the ingest connection.
//!
//! Owns the byte credit. Invariant: no batch is sent while as many bytes are unacknowledged as the server lends, except
//! that one batch may always be under way. An acknowledgement frees every batch that it covers, in whatever order.

use std::collections::{BTreeMap, VecDeque};

use crate::spool::Stream;

/// Batches without an acknowledgement.
#[derive(Debug)]
pub struct Window {
    credit: u64,
    used: u64,
    /// Last number and bytes of each batch, by stream, in order.
    flying: BTreeMap<Stream, VecDeque<(u64, u64)>>,
}

impl Window {
    /// A window of `credit` bytes.
    pub fn new(credit: u64) -> Window {
        Window { credit, used: 0, flying: BTreeMap::new() }
    }

    /// Whether one more batch may be sent.
    pub fn is_open(&self) -> bool {
        self.used < self.credit || self.used == 0
    }

    pub fn sent(&mut self, stream: Stream, last: u64, bytes: u64) {
        self.used += bytes;
        self.flying.entry(stream).or_default().push_back((last, bytes));
    }

    pub fn acknowledged(&mut self, stream: Stream, seq: u64) {
        let Some(flying) = self.flying.get_mut(&stream) else { return };
        while let Some((last, bytes)) = flying.front().copied() {
            if last > seq {
                break;
            }
            flying.pop_front();
            self.used -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Class;

    const FACTS: Stream = Stream { epoch: 1, class: Class::Fact };
    const LOGS: Stream = Stream { epoch: 1, class: Class::Log };

    #[test]
    fn closes_at_its_credit_and_opens_with_acknowledgements() {
        let mut window = Window::new(100);
        window.sent(FACTS, 10, 60);
        assert!(window.is_open());
        window.sent(LOGS, 3, 60);
        assert!(!window.is_open());
        window.acknowledged(FACTS, 9);
        assert!(!window.is_open());
        window.acknowledged(FACTS, 12);
        assert!(window.is_open());
        window.acknowledged(LOGS, 3);
        assert_eq!(window.used, 0);
    }

    #[test]
    fn a_batch_larger_than_the_credit_still_goes() {
        let mut window = Window::new(10);
        assert!(window.is_open());
        window.sent(FACTS, 1, 50);
        assert!(!window.is_open());
        window.acknowledged(FACTS, 1);
        assert!(window.is_open());
    }
}
