//! The end of an audit log: which RayJobs an API server created since the last look.
//!
//! Invariant: each whole line is read once, and a line that is half written is read when it is whole.

use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::PathBuf,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::clock;

/// A log and how far it was read, in bytes.
pub struct Tail {
    path: PathBuf,
    read: u64,
}

impl Tail {
    /// What is in the log already is passed over.
    pub fn at_end(path: PathBuf) -> Result<Tail> {
        let found = fs::metadata(&path).with_context(|| format!("looking at {}", path.display()))?;
        Ok(Tail { read: found.len(), path })
    }

    /// Names of new RayJobs with the times when they had been created, in seconds since 1970.
    pub fn created(&mut self) -> Result<Vec<(String, f64)>> {
        let mut file = File::open(&self.path).with_context(|| format!("reading {}", self.path.display()))?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += u64::try_from(whole)?;
        let lines = bytes[..whole].split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| as_creation(&serde_json::from_slice(line).ok()?)).collect())
    }
}

fn as_creation(entry: &Value) -> Option<(String, f64)> {
    let object = &entry["objectRef"];
    let is_it = entry["verb"] == "create"
        && object["resource"] == "rayjobs"
        && entry["responseStatus"]["code"] == 201;
    let at = clock::seconds(entry["stageTimestamp"].as_str()?)?;
    is_it.then_some((object["name"].as_str()?.to_owned(), at))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_are_read_once_and_when_they_are_whole() {
        let path = std::env::temp_dir().join(format!("squadron-tail-{}", std::process::id()));
        let line = |name: &str, code: u32| {
            serde_json::json!({"verb": "create", "stageTimestamp": "1970-01-01T00:00:07Z",
                "objectRef": {"resource": "rayjobs", "name": name}, "responseStatus": {"code": code}})
            .to_string()
        };
        let mut file = File::create(&path).unwrap();
        writeln!(file, "{}", line("old", 201)).unwrap();
        let mut tail = Tail::at_end(path.clone()).unwrap();
        let half = line("b", 201);
        write!(file, "{}\n{}\n{}", line("a", 201), line("refused", 409), &half[..20]).unwrap();
        assert_eq!(tail.created().unwrap(), [("a".to_owned(), 7.0)]);
        writeln!(file, "{}", &half[20..]).unwrap();
        assert_eq!(tail.created().unwrap(), [("b".to_owned(), 7.0)]);
        assert!(tail.created().unwrap().is_empty());
        fs::remove_file(path).unwrap();
    }
}
