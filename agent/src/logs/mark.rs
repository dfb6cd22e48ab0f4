//! Mark: how far an attempt's log was taken, on disk.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use squadron_core::id::AttemptId;

use crate::spool::replace;

/// One attempt's mark.
pub struct Mark {
    file: PathBuf,
    at: Place,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Place {
    /// The object whose log is being read.
    source: String,
    /// Bytes of the attempt's log before this source's.
    base: u64,
    /// Bytes taken from this source.
    taken: u64,
}

impl Mark {
    /// The mark of `attempt` for the source `uid`. A source that is new begins where the one before ended.
    pub fn load(folder: &Path, attempt: AttemptId, uid: &str) -> Mark {
        let file = folder.join(format!("{}-{}", attempt.job, attempt.number));
        let known = std::fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let known: Place = known.unwrap_or_default();
        let at = if known.source == uid {
            known
        } else {
            Place { source: uid.to_owned(), base: known.base.saturating_add(known.taken), taken: 0 }
        };
        Mark { file, at }
    }

    /// Bytes already taken from this source.
    pub fn taken(&self) -> u64 {
        self.at.taken
    }

    /// Offset of the next byte in the attempt's log.
    pub fn offset(&self) -> u64 {
        self.at.base.saturating_add(self.at.taken)
    }

    /// `bytes` more are durable. A mark that cannot be stored only makes a restart repeat them.
    pub fn advance(&mut self, bytes: usize) {
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

    #[test]
    fn a_second_source_goes_on_where_the_first_ended() {
        let folder = tempfile::tempdir().unwrap();
        let job = "0196f0a0-0000-7000-8000-000000000001".parse().unwrap();
        let attempt = AttemptId { job, number: 1 };
        Mark::load(folder.path(), attempt, "pod-a").advance(10);
        let again = Mark::load(folder.path(), attempt, "pod-a");
        assert_eq!((again.taken(), again.offset()), (10, 10));
        let second = Mark::load(folder.path(), attempt, "pod-b");
        assert_eq!((second.taken(), second.offset()), (0, 10));
    }
}
