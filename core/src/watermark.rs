//! Watermark: what of an arriving batch of numbered records is new.
//!
//! Invariant: the watermark only grows, by contiguous numbers, so a record takes effect once however often it comes.

/// What becomes of records `first ..= last` when everything up to the watermark was committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// All of it was committed before; acknowledge again.
    Old,
    /// The first `skip` records are old, the rest is new and joins the watermark; it then stands at `last`.
    New { skip: u64, last: u64 },
    /// Something before it is missing: the sender must start over from the watermark.
    Gap,
    /// The numbers make no sense (none, zero, or beyond what is counted).
    Malformed,
}

/// Places `count` records from `first` against the watermark.
pub fn place(watermark: u64, first: u64, count: u64) -> Arrival {
    let last = first.checked_add(count).and_then(|end| end.checked_sub(1));
    let Some(last) = last.filter(|last| first > 0 && count > 0 && *last <= i64::MAX as u64) else {
        return Arrival::Malformed;
    };
    if last <= watermark {
        Arrival::Old
    } else if first > watermark + 1 {
        Arrival::Gap
    } else {
        Arrival::New { skip: watermark + 1 - first, last }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn edges() {
        assert_eq!(place(0, 1, 3), Arrival::New { skip: 0, last: 3 });
        assert_eq!(place(3, 1, 3), Arrival::Old);
        assert_eq!(place(2, 1, 3), Arrival::New { skip: 2, last: 3 });
        assert_eq!(place(3, 5, 1), Arrival::Gap);
        for (first, count) in [(0, 1), (1, 0), (u64::MAX, 2), (i64::MAX as u64, 2)] {
            assert_eq!(place(0, first, count), Arrival::Malformed, "{first} {count}");
        }
    }

    proptest! {
        /// Whatever batches come in whatever order, each number takes effect once, in order, without holes.
        #[test]
        fn every_record_takes_effect_once(batches in prop::collection::vec((1_u64..40, 1_u64..10), 0..200)) {
            let mut watermark = 0;
            let mut taken = Vec::new();
            for (first, count) in batches {
                if let Arrival::New { skip, last } = place(watermark, first, count) {
                    taken.extend(first + skip..=last);
                    watermark = last;
                }
            }
            prop_assert_eq!(taken, (1..=watermark).collect::<Vec<_>>());
        }
    }
}
