//! Scan: what can be read of a segment's bytes.
//!
//! Owns the difference between a torn tail and damage. Invariant: every undamaged record is found, also behind damage;
//! records come out in rising order of their numbers. Bytes after which no record follows are a torn tail: the process
//! died while it wrote them, nobody was told that they are safe, and they may be cut off.

use super::record::{OVERHEAD, Record, Stream};

/// A stretch of a file that holds records without a hole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Where its first record starts, in bytes from the start of the file.
    pub offset: usize,
    pub first: u64,
    pub last: u64,
    /// Bytes that its records take.
    pub bytes: usize,
}

/// The runs of one file, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scan {
    pub runs: Vec<Run>,
    /// Where the last record ends.
    pub end: usize,
}

impl Scan {
    /// Whether the file is one run from its very start: nothing in the middle is damaged.
    pub fn is_sound(&self) -> bool {
        match self.runs.as_slice() {
            [] => self.end == 0,
            [run] => run.offset == 0,
            _ => false,
        }
    }
}

/// Reads a file of `stream`; `visit` is called for each record.
pub fn scan(bytes: &[u8], stream: Stream, mut visit: impl FnMut(&Record)) -> Scan {
    let mut found = Scan::default();
    let mut position = 0;
    while position + OVERHEAD <= bytes.len() {
        let last = found.runs.last().map_or(0, |run| run.last);
        let record =
            Record::decode(&bytes[position..]).filter(|record| record.stream == stream && record.seq > last);
        match record {
            Some(record) => {
                found.add(position, &record);
                visit(&record);
                position = found.end;
            }
            None => position += 1,
        }
    }
    found
}

impl Scan {
    fn add(&mut self, position: usize, record: &Record) {
        let length = record.framed_len();
        let joins = position == self.end;
        match self.runs.last_mut() {
            Some(run) if joins && record.seq == run.last + 1 => {
                run.last = record.seq;
                run.bytes += length;
            }
            _ => self.runs.push(Run { offset: position, first: record.seq, last: record.seq, bytes: length }),
        }
        self.end = position + length;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::spool::record::{Class, tests::record};
    use proptest::prelude::*;

    const STREAM: Stream = Stream { epoch: 3, class: Class::Fact };

    fn file(count: u64) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for seq in 1..=count {
            record(seq, format!("payload {seq}").as_bytes()).encode(&mut bytes);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn numbers(scan: &Scan) -> Vec<(u64, u64)> {
        scan.runs.iter().map(|run| (run.first, run.last)).collect()
    }

    #[test]
    fn a_cut_at_any_byte_keeps_every_whole_record() {
        let (bytes, ends) = file(4);
        for cut in 0..=bytes.len() {
            let found = scan(&bytes[..cut], STREAM, |_| {});
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(found.runs.last().map_or(0, |run| run.last), whole as u64, "cut at {cut}");
            assert!(found.is_sound());
        }
    }

    #[test]
    fn records_behind_damage_are_found_and_the_damage_is_seen() {
        let (mut bytes, ends) = file(5);
        bytes[ends[1] + OVERHEAD] ^= 0xff;
        let found = scan(&bytes, STREAM, |_| {});
        assert_eq!(numbers(&found), [(1, 2), (4, 5)]);
        assert!(!found.is_sound());
    }

    #[test]
    fn records_of_another_stream_are_no_records() {
        let (bytes, _) = file(2);
        let found = scan(&bytes, Stream { epoch: 4, class: Class::Fact }, |_| {});
        assert_eq!(found, Scan::default());
    }

    proptest! {
        /// However bytes are damaged, a record that decodes at its place is found, in order.
        #[test]
        fn damage_costs_only_what_it_touches(hits in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 0..4)) {
            let (mut bytes, ends) = file(8);
            let mut touched = std::collections::BTreeSet::new();
            for (at, flip) in hits {
                let position = at.index(bytes.len());
                bytes[position] ^= flip;
                touched.insert(ends.iter().position(|end| position < *end).unwrap() as u64 + 1);
            }
            let mut seen = Vec::new();
            scan(&bytes, STREAM, |record| seen.push(record.seq));
            for seq in 1..=8 {
                if !touched.contains(&seq) {
                    prop_assert!(seen.contains(&seq), "{} of {:?}", seq, seen);
                }
            }
            prop_assert!(seen.is_sorted());
        }
    }
}
