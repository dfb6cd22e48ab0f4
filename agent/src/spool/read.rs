//! Read: durable records in order, from any number on.
//!
//! Owns a place in one stream. Invariant: reads only what was synced; a record that turned bad on the disk after it was
//! written is skipped and reported as a gap, up to the next good one.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    disk::DiskError,
    index::{Index, Next, Segment},
    record::{OVERHEAD, PAYLOAD_LIMIT, Record, Stream},
    scan::scan,
};

/// What comes next in a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk {
    Records(Vec<Record>),
    /// These numbers are lost.
    Gap {
        first: u64,
        last: u64,
    },
    Nothing,
}

struct Place {
    path: PathBuf,
    file: File,
    /// Of the next record.
    offset: u64,
}

/// A reader of one stream.
pub struct Reader {
    index: Arc<Mutex<Index>>,
    stream: Stream,
    /// Number of the last record that was read.
    after: u64,
    place: Option<Place>,
}

impl Reader {
    /// A reader that goes on after record `after`.
    pub fn new(index: Arc<Mutex<Index>>, stream: Stream, after: u64) -> Reader {
        Reader { index, stream, after, place: None }
    }

    /// Whether there is something to read; the disk is not asked.
    pub fn is_behind(&self) -> bool {
        !matches!(self.next(), Next::Nothing)
    }

    fn next(&self) -> Next {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).after(self.stream, self.after)
    }

    /// The next records, of about `most_bytes`. An empty list means: ask again.
    pub fn read(&mut self, most_bytes: usize) -> Result<Chunk, DiskError> {
        match self.next() {
            Next::Nothing => Ok(Chunk::Nothing),
            Next::Gap { first, last } => {
                self.after = last;
                Ok(Chunk::Gap { first, last })
            }
            Next::In(segment) => self.read_segment(&segment, most_bytes),
        }
    }

    fn read_segment(&mut self, segment: &Segment, most_bytes: usize) -> Result<Chunk, DiskError> {
        let offset = match self.place.take() {
            Some(place) if place.path == segment.path => place.offset,
            _ => 0,
        };
        let file = match File::open(&segment.path) {
            Ok(file) => file,
            // Given up for space between the look-up and now.
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(self.lose(segment.last)),
            Err(cause) => return Err(DiskError::at("open", &segment.path)(cause)),
        };
        let mut place = Place { path: segment.path.clone(), file, offset };
        let records = self.take(&mut place, segment, most_bytes)?;
        let chunk = match records {
            Some(records) => Chunk::Records(records),
            None => self.skip_damage(&mut place, segment)?,
        };
        self.place = Some(place);
        Ok(chunk)
    }

    /// Reads on until enough was taken; `None` if the record at the place cannot be read.
    fn take(
        &mut self,
        place: &mut Place,
        segment: &Segment,
        most_bytes: usize,
    ) -> Result<Option<Vec<Record>>, DiskError> {
        let (mut records, mut taken) = (Vec::new(), 0);
        while self.after < segment.last {
            let buffer = place.load(segment, most_bytes.max(OVERHEAD + PAYLOAD_LIMIT))?;
            let mut position = 0;
            while let Some(record) = Record::decode(&buffer[position..]) {
                let length = record.framed_len();
                if !records.is_empty() && taken + length > most_bytes {
                    return Ok(Some(records));
                }
                position += length;
                place.offset += length as u64;
                if record.seq > self.after {
                    self.after = record.seq;
                    taken += length;
                    records.push(record);
                }
            }
            if position == 0 {
                break;
            }
        }
        Ok((!records.is_empty()).then_some(records))
    }

    /// The record at the place cannot be read: goes on at the next good one.
    fn skip_damage(&mut self, place: &mut Place, segment: &Segment) -> Result<Chunk, DiskError> {
        let rest = place.load(segment, usize::MAX)?;
        let found = scan(&rest, self.stream, |_| {});
        let Some(run) = found.runs.iter().find(|run| run.last > self.after) else {
            return Ok(self.lose(segment.last));
        };
        place.offset += run.offset as u64;
        if run.first > self.after + 1 {
            return Ok(self.lose(run.first - 1));
        }
        Ok(Chunk::Records(Vec::new()))
    }

    fn lose(&mut self, last: u64) -> Chunk {
        let first = self.after + 1;
        self.after = last;
        Chunk::Gap { first, last }
    }
}

impl Place {
    /// Up to `most` durable bytes from the place on.
    fn load(&self, segment: &Segment, most: usize) -> Result<Vec<u8>, DiskError> {
        let left = usize::try_from(segment.bytes.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let mut buffer = vec![0; left.min(most)];
        self.file.read_exact_at(&mut buffer, self.offset).map_err(DiskError::at("read", &self.path))?;
        Ok(buffer)
    }
}
