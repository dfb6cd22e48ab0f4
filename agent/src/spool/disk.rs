//! Disk: the files of a spool folder.
//!
//! Owns names and durability. Invariant: a file that a caller was told of survives a power cut, because its folder was
//! synced after it was made; a small file is replaced whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::record::{Class, Stream};

/// What went wrong with which file.
#[derive(Debug, thiserror::Error)]
#[error("the spool could not {step} {}", path.display())]
pub struct DiskError {
    pub step: &'static str,
    pub path: PathBuf,
    #[source]
    pub cause: io::Error,
}

impl DiskError {
    pub(crate) fn at(step: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DiskError {
        let path = path.to_owned();
        move |cause| DiskError { step, path, cause }
    }

    /// Whether freeing space would help.
    pub fn is_full(&self) -> bool {
        matches!(self.cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// Name of a stream's segment that starts with `first`.
pub fn segment_name(stream: Stream, first: u64) -> String {
    format!("{:020}-{}-{first:020}.seg", stream.epoch, stream.class.word())
}

/// Stream and first number in a segment's name.
pub fn parse_segment_name(name: &str) -> Option<(Stream, u64)> {
    let mut parts = name.strip_suffix(".seg")?.split('-');
    let epoch = parts.next()?.parse().ok()?;
    let class = Class::from_word(parts.next()?)?;
    let first = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some((Stream { epoch, class }, first))
}

/// Makes a new empty file for appending, durable in its folder.
pub fn create(path: &Path) -> Result<File, DiskError> {
    let file =
        OpenOptions::new().create_new(true).append(true).open(path).map_err(DiskError::at("create", path))?;
    sync_folder(path)?;
    Ok(file)
}

/// Removes a file; one that is gone already is fine.
pub fn remove(path: &Path) -> Result<(), DiskError> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(DiskError::at("delete", path)(cause)),
        _ => Ok(()),
    }
}

/// Replaces a small file whole: temporary file, sync, rename, sync of the folder.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), DiskError> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary).map_err(DiskError::at("create", &temporary))?;
    file.write_all(content).map_err(DiskError::at("write", &temporary))?;
    file.sync_data().map_err(DiskError::at("sync", &temporary))?;
    fs::rename(&temporary, path).map_err(DiskError::at("rename", path))?;
    sync_folder(path)
}

/// Makes the names in a file's folder durable.
pub fn sync_folder(path: &Path) -> Result<(), DiskError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(DiskError::at("sync the folder of", path))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_say_stream_and_first_number() {
        let stream = Stream { epoch: 12, class: Class::Log };
        assert_eq!(parse_segment_name(&segment_name(stream, 7)), Some((stream, 7)));
        for name in ["acked.json", "1-fact-2.seg.damaged", "1-fact.seg", "x-fact-1.seg", "1-fact-1-1.seg"] {
            assert_eq!(parse_segment_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_small_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acked.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
