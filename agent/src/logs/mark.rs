//! Mark: how far an attempt's log was taken, on disk.
//!
//! A mark is stored after the chunk is durable, so a crash between the two leaves it behind. What recovery saw in the
//! spool makes up for that: no byte is spooled twice under another chunk's edges. For a container's log it also holds
//! the line that was reached, because the kubelet may have rotated away what a count of bytes is counted from.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use prost::Message;
use serde::{Deserialize, Serialize};
use squadron_core::id::AttemptId;
use squadron_proto::link::LogChunk;

use super::lines::{self, Lines};
use crate::spool::{Class, Record, replace};

/// Ends of the logs whose chunks recovery found in the spool, in bytes.
#[derive(Clone, Default, Debug)]
pub struct Spooled(BTreeMap<AttemptId, u64>);

impl Spooled {
    /// Looks at one recovered record.
    pub fn note(&mut self, record: &Record) {
        if record.stream.class != Class::Log {
            return;
        }
        let Ok(chunk) = LogChunk::decode(record.payload.as_slice()) else { return };
        let Ok(job) = chunk.job_id.parse() else { return };
        let end = chunk.offset.saturating_add(chunk.data.len() as u64);
        let known = self.0.entry(AttemptId { job, number: chunk.attempt }).or_default();
        *known = end.max(*known);
    }

    fn end(&self, attempt: AttemptId) -> u64 {
        self.0.get(&attempt).copied().unwrap_or(0)
    }
}

/// One attempt's mark.
pub struct Mark {
    file: PathBuf,
    at: Place,
    /// Bytes that are durable beyond what the file says.
    behind: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Place {
    /// The object whose log is being read.
    source: String,
    /// Bytes of the attempt's log before this source's.
    base: u64,
    /// Bytes taken from this source.
    taken: u64,
    /// The line that was reached, where lines have times.
    #[serde(default)]
    line: Option<lines::Place>,
}

impl Mark {
    /// The mark of `attempt` for the source `uid`. A source that is new begins where the one before ended.
    pub fn load(folder: &Path, attempt: AttemptId, uid: &str, spooled: &Spooled) -> Mark {
        let file = folder.join(format!("{}-{}", attempt.job, attempt.number));
        let known = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut known: Place = known.unwrap_or_else(|| Place { source: uid.to_owned(), ..Place::default() });
        let marked = known.taken;
        known.taken = marked.max(spooled.end(attempt).saturating_sub(known.base));
        if known.source == uid {
            let behind = known.taken - marked;
            return Mark { file, at: known, behind };
        }
        let base = known.base.saturating_add(known.taken);
        let at = Place { source: uid.to_owned(), base, ..Place::default() };
        Mark { file, at, behind: 0 }
    }

    /// The line that was reached.
    pub fn line(&self) -> Option<&lines::Place> {
        self.at.line.as_ref()
    }

    /// A reader that goes on where this mark is.
    pub fn lines(&self) -> Lines {
        match &self.at.line {
            Some(line) => Lines::resume(Some(line.clone()), self.behind),
            None => Lines::resume(None, self.at.taken),
        }
    }

    /// Bytes already taken from this source.
    pub fn taken(&self) -> u64 {
        self.at.taken
    }

    /// Offset of the next byte in the attempt's log.
    pub fn offset(&self) -> u64 {
        self.at.base.saturating_add(self.at.taken)
    }

    /// `bytes` more are durable, up to `line` where that is known. A mark that cannot be stored only makes a restart
    /// repeat them.
    pub fn advance(&mut self, bytes: usize, line: Option<lines::Place>) {
        self.behind = 0;
        self.at.line = line.or(self.at.line.take());
        self.at.taken = self.at.taken.saturating_add(bytes as u64);
        let Ok(text) = serde_json::to_vec(&self.at) else { return };
        if let Err(error) = replace(&self.file, &text) {
            tracing::warn!(%error, "the mark of a driver's log cannot be stored");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn attempt() -> AttemptId {
        AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 }
    }

    fn load(folder: &Path, uid: &str) -> Mark {
        Mark::load(folder, attempt(), uid, &Spooled::default())
    }

    #[test]
    fn a_second_source_goes_on_where_the_first_ended() {
        let folder = tempfile::tempdir().unwrap();
        load(folder.path(), "pod-a").advance(10, None);
        let again = load(folder.path(), "pod-a");
        assert_eq!((again.taken(), again.offset()), (10, 10));
        let second = load(folder.path(), "pod-b");
        assert_eq!((second.taken(), second.offset()), (0, 10));
    }

    #[test]
    fn a_mark_that_a_crash_left_behind_catches_up_with_the_spool() {
        let folder = tempfile::tempdir().unwrap();
        let chunk = |offset: u64, data: &str| {
            let chunk = LogChunk {
                job_id: attempt().job.to_string(),
                attempt: 1,
                stream: "driver".into(),
                offset,
                data: data.as_bytes().to_vec().into(),
            };
            let stream = crate::spool::Stream { epoch: 1, class: Class::Log };
            Record { stream, seq: 1, at: squadron_core::time::Timestamp(0), payload: chunk.encode_to_vec() }
        };
        let mut spooled = Spooled::default();
        spooled.note(&chunk(0, "0123456789"));
        spooled.note(&chunk(10, "abc"));
        let unmarked = Mark::load(folder.path(), attempt(), "pod-a", &spooled);
        assert_eq!((unmarked.taken(), unmarked.offset()), (13, 13));
        load(folder.path(), "pod-a").advance(10, None);
        let behind = Mark::load(folder.path(), attempt(), "pod-a", &spooled);
        assert_eq!((behind.taken(), behind.offset()), (13, 13));
        let next = Mark::load(folder.path(), attempt(), "pod-b", &spooled);
        assert_eq!((next.taken(), next.offset()), (0, 13));
    }

    #[test]
    fn a_mark_remembers_the_line_and_what_the_spool_holds_beyond_it() {
        let folder = tempfile::tempdir().unwrap();
        let raw = b"2026-11-29T10:00:01.5Z one\n2026-11-29T10:00:02.5Z two\n2026-11-29T10:00:03.5Z three\n";
        let mut mark = load(folder.path(), "pod-a");
        let mut lines = mark.lines();
        let first = lines.read(&raw[..27]);
        mark.advance(first.data.len(), lines.place());
        let spooled = Spooled([(attempt(), 8)].into());
        let again = Mark::load(folder.path(), attempt(), "pod-a", &spooled);
        assert_eq!(
            (again.taken(), again.line().and_then(lines::Place::since)),
            (8, "2026-11-29T10:00:01Z".parse().ok())
        );
        assert_eq!(again.lines().read(raw).data, b"three\n");
    }
}
