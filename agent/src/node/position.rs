//! Position: how far a kernel log was reported, kept on disk per log and boot.
//!
//! Invariant: what is on the disk is never ahead of what was told. It may lag: a restart then reads some records that
//! were not worth telling once more. Storing costs two syncs, so it is done after a report and every few seconds, and
//! not for each of the thousands of records that a kernel may write in a second.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::spool::replace;

/// The next record of one log.
pub struct Position {
    file: PathBuf,
    boot: String,
    next: Option<u64>,
    stored: Option<u64>,
}

impl Position {
    /// A log that was never read under this boot has no position: what is old then was not ours to tell.
    pub fn load(state: &Path, log: &Path, boot: &str) -> anyhow::Result<Position> {
        let digest = Sha256::digest(log.as_os_str().as_encoded_bytes());
        let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let file = state.join(format!("position-{name}"));
        let next = match std::fs::read_to_string(&file) {
            Ok(text) => text
                .split_once(' ')
                .filter(|(known, _)| *known == boot)
                .and_then(|(_, n)| n.trim().parse().ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        Ok(Position { file, boot: boot.to_owned(), next, stored: next })
    }

    /// The number to go on from; `None` for a log that is new.
    pub fn next(&self) -> Option<u64> {
        self.next
    }

    /// Everything up to `seq` was told or was not worth telling. The first position of a log is stored at once, since
    /// without any a restart would begin at the log's end.
    pub fn passed(&mut self, seq: u64) -> anyhow::Result<()> {
        self.next = Some(seq.saturating_add(1));
        if self.stored.is_none() { self.store() } else { Ok(()) }
    }

    /// Makes the position durable, if it moved.
    pub fn store(&mut self) -> anyhow::Result<()> {
        let Some(next) = self.next.filter(|next| self.stored != Some(*next)) else { return Ok(()) };
        replace(&self.file, format!("{} {next}", self.boot).as_bytes())
            .with_context(|| format!("cannot store the position in {}", self.file.display()))?;
        self.stored = Some(next);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_position_belongs_to_one_log_and_one_boot() {
        let state = tempfile::tempdir().unwrap();
        let log = Path::new("/dev/kmsg");
        Position::load(state.path(), log, "boot-1").unwrap().passed(41).unwrap();
        assert_eq!(Position::load(state.path(), log, "boot-1").unwrap().next(), Some(42));
        assert_eq!(Position::load(state.path(), log, "boot-2").unwrap().next(), None);
        assert_eq!(Position::load(state.path(), Path::new("/other"), "boot-1").unwrap().next(), None);
    }

    #[test]
    fn only_the_first_record_and_a_wish_are_written_to_the_disk() {
        let state = tempfile::tempdir().unwrap();
        let on_disk = || Position::load(state.path(), Path::new("/dev/kmsg"), "boot-1").unwrap().next();
        let mut position = Position::load(state.path(), Path::new("/dev/kmsg"), "boot-1").unwrap();
        for seq in 0..1_000 {
            position.passed(seq).unwrap();
        }
        assert_eq!((position.next(), on_disk()), (Some(1_000), Some(1)));
        position.store().unwrap();
        assert_eq!(on_disk(), Some(1_000));
    }
}
