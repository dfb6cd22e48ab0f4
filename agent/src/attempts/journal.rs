//! Journal: a file of lines, each one change, that is read at the start, a line at a time.
//!
//! Invariant: a line takes effect as a whole or not at all, and a line that was written before another is durable before it. A
//! last line that a power cut left half written was never acted on and is dropped; damage anywhere else is told. Grown far beyond
//! what it says, the file is replaced by one that says the same in fewer lines. Neither reading nor writing holds more of the file
//! in memory than one line.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use serde::{Serialize, de::DeserializeOwned};

use crate::spool::DiskError;

/// Bytes of changes that are always let grow, in bytes.
const LEAST: u64 = 1 << 20;

/// One open journal.
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    bytes: u64,
    /// Part of a line that failed may stand behind `bytes`.
    torn: bool,
    /// What the file would have if it said everything in one line, when that was counted last.
    base: u64,
}

impl Journal {
    /// Opens `path` and gives each of its lines to `take`; none if there is no such file.
    pub fn open<L: DeserializeOwned>(path: &Path, take: impl FnMut(L)) -> anyhow::Result<Journal> {
        let mut journal = Journal { path: path.to_owned(), file: None, bytes: 0, torn: false, base: 0 };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(journal),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let torn;
        (journal.bytes, torn) = read(path, file, take)?;
        if torn {
            tracing::warn!(path = %path.display(), "a half written last line is dropped");
            shorten(path, journal.bytes)?;
        }
        if journal.bytes > 0 {
            journal.file = Some(journal.append_to()?);
        }
        Ok(journal)
    }

    fn append_to(&self) -> Result<File, DiskError> {
        OpenOptions::new().append(true).open(&self.path).map_err(DiskError::at("open", &self.path))
    }

    /// Makes one line durable. The first line of a file makes the file.
    pub fn append<L: Serialize>(&mut self, line: &L) -> Result<(), DiskError> {
        let Some(file) = &mut self.file else { return self.replace(line) };
        if self.torn {
            file.set_len(self.bytes).map_err(DiskError::at("shorten", &self.path))?;
        }
        self.torn = true;
        let written = write_durably(file, line).map_err(DiskError::at("write", &self.path))?;
        self.torn = false;
        self.bytes += written;
        Ok(())
    }

    /// Counts what the file would have if `line` said everything.
    pub fn measure<L: Serialize>(&mut self, line: &L) {
        // A sink takes everything.
        self.base = write(io::sink(), line).unwrap_or(self.bytes);
    }

    /// Whether the file has grown far beyond what it says.
    pub fn is_long(&self) -> bool {
        self.bytes > LEAST + 3 * self.base
    }

    /// Replaces the file by this one line.
    pub fn replace<L: Serialize>(&mut self, line: &L) -> Result<(), DiskError> {
        let temporary = self.path.with_extension("tmp");
        let mut file = File::create(&temporary).map_err(DiskError::at("create", &temporary))?;
        let bytes = write_durably(&mut file, line).map_err(DiskError::at("write", &temporary))?;
        std::fs::rename(&temporary, &self.path).map_err(DiskError::at("rename", &self.path))?;
        sync_folder(&self.path)?;
        self.file = Some(self.append_to()?);
        (self.bytes, self.base, self.torn) = (bytes, bytes, false);
        Ok(())
    }
}

/// Takes all whole lines; answers their bytes, and whether half a line stands behind them.
fn read<L: DeserializeOwned>(
    path: &Path,
    file: File,
    mut take: impl FnMut(L),
) -> anyhow::Result<(u64, bool)> {
    let (mut file, mut line, mut bytes) = (BufReader::new(file), Vec::new(), 0);
    loop {
        line.clear();
        let read = file.read_until(b'\n', &mut line);
        let read = read.with_context(|| format!("cannot read {}", path.display()))?;
        if line.pop() != Some(b'\n') {
            return Ok((bytes, read > 0));
        }
        bytes += read as u64;
        if !line.is_empty() {
            let parsed = serde_json::from_slice(&line);
            take(parsed.with_context(|| format!("{} is damaged; remove it to start anew", path.display()))?);
        }
    }
}

fn shorten(path: &Path, bytes: u64) -> Result<(), DiskError> {
    let file = OpenOptions::new().write(true).open(path).map_err(DiskError::at("open", path))?;
    file.set_len(bytes).and_then(|()| file.sync_all()).map_err(DiskError::at("shorten", path))
}

/// Makes the name of a file durable.
fn sync_folder(path: &Path) -> Result<(), DiskError> {
    let folder = File::open(path.parent().unwrap_or(Path::new(".")));
    folder.and_then(|folder| folder.sync_all()).map_err(DiskError::at("sync the folder of", path))
}

fn write_durably<L: Serialize>(file: &mut File, line: &L) -> io::Result<u64> {
    let bytes = write(&mut *file, line)?;
    file.sync_data()?;
    Ok(bytes)
}

/// Writes one line as it is made; answers its length.
fn write<L: Serialize>(to: impl Write, line: &L) -> io::Result<u64> {
    let mut to = BufWriter::new(Counting { to, bytes: 0 });
    serde_json::to_writer(&mut to, line)?;
    to.write_all(b"\n")?;
    let counting = to.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(counting.bytes)
}

struct Counting<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let written = self.to.write(part)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn open<L: DeserializeOwned>(path: &Path) -> (Journal, Vec<L>) {
        let mut lines = Vec::new();
        let journal = Journal::open(path, |line| lines.push(line)).unwrap();
        (journal, lines)
    }

    fn read(path: &Path) -> Vec<u32> {
        open(path).1
    }

    #[test]
    fn lines_come_back_in_order_and_a_torn_one_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("held.jsonl");
        let (mut journal, lines) = open::<u32>(&path);
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
        let (mut journal, _) = open::<u32>(&path);
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
        let error = Journal::open::<u32>(&path, |_| {}).err().unwrap();
        assert!(error.to_string().contains("damaged"), "{error}");
    }

    #[test]
    fn it_is_long_only_when_most_of_it_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("held.jsonl");
        let (mut journal, _) = open::<String>(&path);
        let line = "x".repeat(1 << 20);
        for _ in 0..4 {
            assert!(!journal.is_long());
            journal.append(&line).unwrap();
        }
        journal.append(&line).unwrap();
        assert!(journal.is_long());
        let (mut again, _) = open::<String>(&path);
        again.measure(&line);
        assert!(again.is_long(), "a restart does not put that off");
        journal.replace(&line).unwrap();
        assert!(!journal.is_long());
    }
}
