//! Position: how far a kernel log was reported, kept on disk per log and boot.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::spool::replace;

/// The next record of one log.
pub struct Position {
    file: PathBuf,
    boot: String,
    next: Option<u64>,
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
        Ok(Position { file, boot: boot.to_owned(), next })
    }

    /// The number to go on from; `None` for a log that is new.
    pub fn next(&self) -> Option<u64> {
        self.next
    }

    /// Everything up to `seq` was told or was not worth telling.
    pub fn passed(&mut self, seq: u64) -> anyhow::Result<()> {
        let next = seq.saturating_add(1);
        self.next = Some(next);
        replace(&self.file, format!("{} {next}", self.boot).as_bytes())
            .with_context(|| format!("cannot store the position in {}", self.file.display()))
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
}
