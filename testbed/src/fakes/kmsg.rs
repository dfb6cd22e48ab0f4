//! A fake kernel log: a file with records as `/dev/kmsg` gives them, `priority,sequence,microseconds,-;text`.
//!
//! Invariant: sequence numbers count up from 0 and each record is one line, also when two commands write at once.
//! The file lies in the cluster's folder, so a pod sees it as a hostPath under the same path.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};

use crate::error::{AtPath, Error, Result};

/// Name of the file in the cluster's folder.
pub const FILE: &str = "fake-kmsg";

/// Appends one record and gives it.
pub fn append(path: &Path, priority: u8, text: &str) -> Result<String> {
    let file = File::options().create(true).append(true).read(true).open(path).at("open", path)?;
    let mut file = Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, errno)| std::io::Error::from(errno))
        .at("lock", path)?;
    let mut before = String::new();
    file.read_to_string(&mut before).at("read", path)?;
    let record = record(priority, next_sequence(&before), microseconds()?, text)?;
    file.write_all(record.as_bytes()).at("write", path)?;
    Ok(record)
}

/// A record like the kernel's: the text on one line, other control characters as `\xNN`.
fn record(priority: u8, sequence: u64, microseconds: u64, text: &str) -> Result<String> {
    if text.trim().is_empty() {
        return Err(Error::Refused(
            "a kernel line needs a text, such as \"NVRM: Xid (PCI:0000:3b:00): 79, …\"".into(),
        ));
    }
    let mut line = format!("{priority},{sequence},{microseconds},-;");
    for character in text.chars() {
        match character.is_control() || character == '\\' {
            true => line.push_str(&format!("\\x{:02x}", u32::from(character))),
            false => line.push(character),
        }
    }
    line.push('\n');
    Ok(line)
}

fn next_sequence(before: &str) -> u64 {
    let last = before.lines().rev().find_map(|line| line.split(',').nth(1)?.parse::<u64>().ok());
    last.map_or(0, |sequence| sequence.saturating_add(1))
}

/// Microseconds since boot, as the kernel counts them.
fn microseconds() -> Result<u64> {
    let path = Path::new("/proc/uptime");
    let text = std::fs::read_to_string(path).at("read", path)?;
    let (seconds, rest) = text.split_once('.').unwrap_or(("0", "0"));
    let hundredths: u64 = rest.split(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or_default();
    Ok(seconds.parse::<u64>().unwrap_or_default() * 1_000_000 + hundredths * 10_000)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn record_has_the_form_of_the_kernel() {
        assert_eq!(record(3, 7, 42, "NVRM: Xid 79").unwrap(), "3,7,42,-;NVRM: Xid 79\n");
        assert_eq!(record(3, 7, 42, "a\nb\\").unwrap(), "3,7,42,-;a\\x0ab\\x5c\n");
        assert!(record(3, 7, 42, "  ").is_err());
    }

    #[test]
    fn many_writers_number_their_records_without_gap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| append(&path, 3, "x").unwrap());
            }
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let numbers: Vec<u64> =
            text.lines().map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, (0..8).collect::<Vec<_>>());
    }
}
