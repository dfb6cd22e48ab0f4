//! Journal: a file of lines, each one change, that is read whole at the start.
//!
//! Invariant: a line takes effect as a whole or not at all, and a line that was written before another is durable before it. A
//! last line that a power cut left half written was never acted on and is dropped; damage anywhere else is told. Grown far beyond
//! what it says, the file is replaced by one that says the same in fewer lines.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::{Serialize, de::DeserializeOwned};

use crate::spool::{DiskError, replace};

/// Bytes of changes that are always let grow, in bytes.
const LEAST: u64 = 1 << 20;

/// One open journal.
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    /// Part of a line that failed may stand behind `bytes`.
    torn: bool,
    /// Size of the file when it was replaced last.
    base: u64,
}

impl Journal {
    /// Opens `path` and reads its lines; none if there is no such file.
    pub fn open<L: DeserializeOwned>(path: &Path) -> anyhow::Result<(Journal, Vec<L>)> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut lines = Vec::new();
        for line in text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = serde_json::from_slice(line);
            lines.push(
                line.with_context(|| format!("{} is damaged; remove it to start anew", path.display()))?,
            );
        }
        let bytes = whole as u64;
        let mut journal = Journal { path: path.to_owned(), file: None, bytes, torn: false, base: bytes };
        if whole < text.len() {
            tracing::warn!(path = %path.display(), "a half written last line is dropped");
            replace(path, &text[..whole])?;
        }
        if whole > 0 {
            journal.file = Some(journal.append_to()?);
        }
        Ok((journal, lines))
    }

    fn append_to(&self) -> Result<File, DiskError> {
        OpenOptions::new().append(true).open(&self.path).map_err(DiskError::at("open", &self.path))
    }

    /// Makes one line durable. The first line of a file makes the file.
    pub fn append<L: Serialize>(&mut self, line: &L) -> Result<(), DiskError> {
        let line = encoded(line);
        let Some(file) = &mut self.file else { return self.renew(&line) };
        if self.torn {
            file.set_len(self.bytes).map_err(DiskError::at("shorten", &self.path))?;
        }
        self.torn = true;
        file.write_all(&line).and_then(|()| file.sync_data()).map_err(DiskError::at("write", &self.path))?;
        self.torn = false;
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Whether the file has grown far beyond what it says.
    pub fn is_long(&self) -> bool {
        self.bytes > LEAST + 3 * self.base
    }

    /// Replaces the file by this one line.
    pub fn replace<L: Serialize>(&mut self, line: &L) -> Result<(), DiskError> {
        self.renew(&encoded(line))
    }

    fn renew(&mut self, line: &[u8]) -> Result<(), DiskError> {
        replace(&self.path, line)?;
        self.file = Some(self.append_to()?);
        (self.bytes, self.base, self.torn) = (line.len() as u64, line.len() as u64, false);
        Ok(())
    }
}

fn encoded<L: Serialize>(line: &L) -> Vec<u8> {
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(path: &Path) -> Vec<u32> {
        Journal::open(path).unwrap().1
    }

    #[test]
    fn lines_come_back_in_order_and_a_torn_one_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("held.jsonl");
        let (mut journal, lines) = Journal::open::<u32>(&path).unwrap();
        assert!(lines.is_empty());
        for number in 1..=3_u32 {
            journal.append(&number).unwrap();
        }
        assert_eq!(read(&path), [1, 2, 3]);
        let text = std::fs::read(&path).unwrap();
        for cut in 5..text.len() {
            std::fs::write(&path, &text[..cut]).unwrap();
            assert_eq!(read(&path), [1, 2], "{cut}");
        }
        let (mut journal, _) = Journal::open::<u32>(&path).unwrap();
        journal.append(&4_u32).unwrap();
        assert_eq!(read(&path), [1, 2, 4]);
        journal.replace(&9_u32).unwrap();
        journal.append(&10_u32).unwrap();
        assert_eq!(read(&path), [9, 10]);
    }

    #[test]
    fn damage_in_the_middle_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("held.jsonl");
        std::fs::write(&path, "1\nx\n3\n").unwrap();
        let error = Journal::open::<u32>(&path).err().unwrap();
        assert!(error.to_string().contains("damaged"), "{error}");
    }

    #[test]
    fn it_is_long_only_when_most_of_it_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open::<String>(&folder.path().join("held.jsonl")).unwrap();
        let line = "x".repeat(1 << 20);
        for _ in 0..4 {
            assert!(!journal.is_long());
            journal.append(&line).unwrap();
        }
        journal.append(&line).unwrap();
        assert!(journal.is_long());
        journal.replace(&line).unwrap();
        assert!(!journal.is_long());
    }
}
