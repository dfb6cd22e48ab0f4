//! Index: which segments lie on the disk, and what of them is still owed to the control plane.
//!
//! Owns the bookkeeping, without touching a file. Invariant: a segment leaves the index only when all of it was
//! acknowledged, or when a full disk forces logs out; in the second case the missing numbers show as a gap for as long
//! as anything later of that stream exists.

use std::{collections::BTreeMap, path::PathBuf};

use super::record::{Class, Stream};

/// One file of records without a hole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    pub first: u64,
    /// Last durable record; `first - 1` while there is none.
    pub last: u64,
    /// Durable bytes.
    pub bytes: u64,
    pub path: PathBuf,
    /// Nothing more will be written to it.
    pub sealed: bool,
}

/// What comes after a record number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// The segment that holds the next number.
    In(Segment),
    /// These numbers are lost.
    Gap {
        first: u64,
        last: u64,
    },
    Nothing,
}

/// What the spool holds unacknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Load {
    pub bytes: u64,
    pub records: u64,
}

#[derive(Default, Debug)]
struct Shelf {
    /// By first number.
    segments: BTreeMap<u64, Segment>,
    acked: u64,
}

/// Segments of every stream.
#[derive(Default, Debug)]
pub struct Index {
    shelves: BTreeMap<Stream, Shelf>,
}

impl Index {
    /// Adds a segment, or replaces what was known of it.
    pub fn put(&mut self, stream: Stream, segment: Segment) {
        self.shelves.entry(stream).or_default().segments.insert(segment.first, segment);
    }

    /// Everything up to `seq` was committed; answers files that may be deleted.
    pub fn ack(&mut self, stream: Stream, seq: u64) -> Vec<PathBuf> {
        let Some(shelf) = self.shelves.get_mut(&stream) else { return Vec::new() };
        shelf.acked = shelf.acked.max(seq);
        let acked = shelf.acked;
        let done = |segment: &Segment| segment.sealed && segment.last <= acked;
        let paths = shelf.segments.values().filter(|segment| done(segment)).map(|s| s.path.clone()).collect();
        shelf.segments.retain(|_, segment| !done(segment));
        if shelf.segments.is_empty() {
            self.shelves.remove(&stream);
        }
        paths
    }

    /// Highest acknowledged number of every stream that still has files.
    pub fn acked(&self) -> BTreeMap<Stream, u64> {
        self.shelves.iter().map(|(stream, shelf)| (*stream, shelf.acked)).collect()
    }

    /// What follows `seq` in a stream.
    pub fn after(&self, stream: Stream, seq: u64) -> Next {
        let Some(shelf) = self.shelves.get(&stream) else { return Next::Nothing };
        let wanted = seq + 1;
        let holder = shelf.segments.range(..=wanted).next_back().map(|(_, segment)| segment);
        if let Some(segment) = holder.filter(|segment| wanted <= segment.last) {
            return Next::In(segment.clone());
        }
        let later = shelf.segments.range(wanted..).map(|(_, segment)| segment);
        let mut filled = later.filter(|segment| segment.first <= segment.last);
        filled.next().map_or(Next::Nothing, |segment| Next::Gap { first: wanted, last: segment.first - 1 })
    }

    /// Streams with files: older epochs first, facts before logs.
    pub fn streams(&self) -> Vec<Stream> {
        self.shelves.keys().copied().collect()
    }

    /// Takes out the oldest sealed log segment, to make room.
    pub fn give_up_oldest_log(&mut self) -> Option<Segment> {
        let logs = self.shelves.iter_mut().filter(|(stream, _)| stream.class == Class::Log);
        for (_, shelf) in logs {
            if let Some(first) = shelf.segments.values().find(|segment| segment.sealed).map(|s| s.first) {
                return shelf.segments.remove(&first);
            }
        }
        None
    }

    /// Bytes of files of a class.
    pub fn bytes(&self, class: Class) -> u64 {
        let shelves = self.shelves.iter().filter(|(stream, _)| stream.class == class);
        shelves.flat_map(|(_, shelf)| shelf.segments.values()).map(|segment| segment.bytes).sum()
    }

    /// Records without acknowledgement, and about how many bytes they take.
    pub fn load(&self) -> Load {
        let mut load = Load::default();
        for shelf in self.shelves.values() {
            for segment in shelf.segments.values() {
                let held = (segment.last + 1).saturating_sub(segment.first);
                let owed = (segment.last).saturating_sub(shelf.acked.max(segment.first - 1));
                load.records += owed;
                load.bytes += (segment.bytes * owed).checked_div(held).unwrap_or(0);
            }
        }
        load
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGS: Stream = Stream { epoch: 1, class: Class::Log };

    fn segment(first: u64, last: u64, sealed: bool) -> Segment {
        let path = PathBuf::from(format!("{first}"));
        Segment { first, last, bytes: (last + 1 - first) * 10, path, sealed }
    }

    fn index() -> Index {
        let mut index = Index::default();
        for segment in [segment(1, 10, true), segment(11, 20, true), segment(21, 25, false)] {
            index.put(LOGS, segment);
        }
        index
    }

    #[test]
    fn only_sealed_and_acknowledged_files_go() {
        let mut index = index();
        assert_eq!(index.ack(LOGS, 15), [PathBuf::from("1")]);
        assert_eq!(index.ack(LOGS, 12), Vec::<PathBuf>::new(), "an old acknowledgement takes nothing back");
        assert_eq!(index.load(), Load { bytes: 100, records: 10 });
        assert_eq!(index.ack(LOGS, 25), [PathBuf::from("11")]);
        assert_eq!(index.load(), Load::default());
        assert_eq!(index.after(LOGS, 25), Next::Nothing);
    }

    #[test]
    fn a_dropped_segment_shows_as_a_gap() {
        let mut index = index();
        assert_eq!(index.give_up_oldest_log().map(|segment| segment.first), Some(1));
        assert_eq!(index.after(LOGS, 4), Next::Gap { first: 5, last: 10 });
        assert_eq!(index.after(LOGS, 10), Next::In(segment(11, 20, true)));
        assert!(index.give_up_oldest_log().is_some());
        assert!(index.give_up_oldest_log().is_none(), "the open file stays");
    }

    #[test]
    fn an_open_empty_segment_holds_nothing() {
        let mut index = Index::default();
        index.put(LOGS, segment(1, 0, false));
        assert_eq!(index.after(LOGS, 0), Next::Nothing);
        assert_eq!(index.load(), Load::default());
    }
}
