//! Append: numbers records and makes them durable, a group at a time.
//!
//! Owns the open segment of each class. Invariant: a number is given only to a record that is on the disk and synced;
//! a failed write takes back what it wrote. When space runs out logs give way, oldest first; facts wait instead.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Write,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use squadron_core::time::Timestamp;

use super::{
    disk::{self, DiskError, segment_name},
    index::{Index, Segment},
    record::{Class, PAYLOAD_LIMIT, Record, Stream},
};

/// How much the spool may hold, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Of all files.
    pub total: u64,
    /// Of log files.
    pub logs: u64,
    /// A segment is sealed when it has grown to this.
    pub segment: u64,
}

/// A record that waits for its number.
#[derive(Clone, Debug)]
pub struct Unnumbered {
    pub class: Class,
    pub at: Timestamp,
    pub payload: Vec<u8>,
}

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receipt {
    /// On the disk under this number.
    Durable(u64),
    /// Given up: a log record without room, or one that no batch could carry.
    Dropped,
}

/// Why a group was not taken.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("the spool is full and holds only facts; it waits until the control plane has taken some")]
    Full,
    #[error(transparent)]
    Disk(#[from] DiskError),
}

struct Open {
    file: File,
    segment: Segment,
}

/// The writing end of a spool, for one epoch.
pub struct Appender {
    folder: PathBuf,
    epoch: u64,
    limits: Limits,
    index: Arc<Mutex<Index>>,
    open: BTreeMap<Class, Open>,
    next: BTreeMap<Class, u64>,
    /// Log records and bytes given up since the start.
    pub given_up: (u64, u64),
}

impl Appender {
    pub fn new(folder: PathBuf, epoch: u64, limits: Limits, index: Arc<Mutex<Index>>) -> Appender {
        let next = Class::ALL.iter().map(|class| (*class, 1)).collect();
        Appender { folder, epoch, limits, index, open: BTreeMap::new(), next, given_up: (0, 0) }
    }

    /// Makes a group durable; answers one receipt for each record, in order.
    pub fn append(&mut self, group: &[Unnumbered]) -> Result<Vec<Receipt>, AppendError> {
        let mut receipts = vec![Receipt::Dropped; group.len()];
        for class in Class::ALL {
            let (places, records) = self.number(class, group);
            if records.is_empty() {
                continue;
            }
            let taken = self.append_class(class, &records);
            match taken {
                Ok(()) => {
                    for (place, record) in places.iter().zip(&records) {
                        receipts[*place] = Receipt::Durable(record.seq);
                    }
                    self.next.insert(class, records[records.len() - 1].seq + 1);
                }
                Err(AppendError::Full) if class == Class::Log => self.count_given_up(&records),
                Err(error) => return Err(error),
            }
        }
        Ok(receipts)
    }

    /// Records of a class with the numbers that they will have, and their places in the group.
    fn number(&self, class: Class, group: &[Unnumbered]) -> (Vec<usize>, Vec<Record>) {
        let fits = |record: &Unnumbered| record.class == class && record.payload.len() <= PAYLOAD_LIMIT;
        let mine = group.iter().enumerate().filter(|(_, record)| fits(record));
        let numbered = mine.zip(self.next[&class]..).map(|((place, record), seq)| {
            let stream = Stream { epoch: self.epoch, class };
            (place, Record { stream, seq, at: record.at, payload: record.payload.clone() })
        });
        numbered.unzip()
    }

    fn append_class(&mut self, class: Class, records: &[Record]) -> Result<(), AppendError> {
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.encode(&mut bytes));
        self.make_room(class, bytes.len() as u64)?;
        loop {
            match self.write(class, records, &bytes) {
                Err(error) if error.is_full() => self.give_up_oldest_log()?,
                other => return other.map_err(AppendError::from),
            }
        }
    }

    fn write(&mut self, class: Class, records: &[Record], bytes: &[u8]) -> Result<(), DiskError> {
        let first = records[0].seq;
        self.roll(class, first)?;
        let Some(open) = self.open.get_mut(&class) else { return Ok(()) };
        let path = &open.segment.path;
        let written = open.file.write_all(bytes).and_then(|()| open.file.sync_data());
        if let Err(cause) = written {
            // What a failed write left behind must not be followed by good records.
            open.file.set_len(open.segment.bytes).map_err(DiskError::at("take back a write to", path))?;
            return Err(DiskError::at("write", path)(cause));
        }
        open.segment.last = records[records.len() - 1].seq;
        open.segment.bytes += bytes.len() as u64;
        let segment = open.segment.clone();
        self.index().put(Stream { epoch: self.epoch, class }, segment);
        Ok(())
    }

    /// Opens a segment that starts with `first`, if there is none or the present one has grown large.
    fn roll(&mut self, class: Class, first: u64) -> Result<(), DiskError> {
        let stream = Stream { epoch: self.epoch, class };
        if self.open.get(&class).is_some_and(|open| open.segment.bytes < self.limits.segment) {
            return Ok(());
        }
        if let Some(mut full) = self.open.remove(&class) {
            full.segment.sealed = true;
            self.index().put(stream, full.segment);
        }
        let path = self.folder.join(segment_name(stream, first));
        let segment = Segment { first, last: first - 1, bytes: 0, path: path.clone(), sealed: false };
        self.open.insert(class, Open { file: disk::create(&path)?, segment });
        Ok(())
    }

    fn make_room(&mut self, class: Class, wanted: u64) -> Result<(), AppendError> {
        loop {
            let facts = self.index().bytes(Class::Fact);
            let logs = self.index().bytes(Class::Log);
            let within_own = class == Class::Fact || logs + wanted <= self.limits.logs;
            if within_own && facts + logs + wanted <= self.limits.total {
                return Ok(());
            }
            self.give_up_oldest_log()?;
        }
    }

    fn give_up_oldest_log(&mut self) -> Result<(), AppendError> {
        let Some(segment) = self.index().give_up_oldest_log() else { return Err(AppendError::Full) };
        let records = segment.last + 1 - segment.first;
        self.given_up.0 += records;
        self.given_up.1 += segment.bytes;
        tracing::warn!(
            records,
            bytes = segment.bytes,
            "the spool is full: the oldest log records were given up"
        );
        disk::remove(&segment.path)?;
        Ok(())
    }

    fn count_given_up(&mut self, records: &[Record]) {
        self.given_up.0 += records.len() as u64;
        self.given_up.1 += records.iter().map(|record| record.payload.len() as u64).sum::<u64>();
        tracing::warn!(records = records.len(), "the spool is full: log records were given up");
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
