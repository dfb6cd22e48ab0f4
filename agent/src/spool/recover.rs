//! Recover: from whatever a dead process left in the folder to a sound index.
//!
//! Owns what happens to damage. A torn tail is cut off: nobody was told that it is safe. A file with damage in the
//! middle is put aside as `*.damaged` and its readable records are written into new files; what could not be read stays
//! a hole in the numbering, which the sender reports as a gap. Invariant: recovery itself may be interrupted anywhere.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use super::{
    acked::{keep_acked, load_acked},
    disk::{self, DiskError, parse_segment_name, segment_name},
    index::{Index, Segment},
    record::{Record, Stream},
    scan::{Run, Scan, scan},
};

/// Extension of a file that recovery writes beside a damaged one.
const SALVAGED: &str = "salvaged";

/// What recovery found.
#[derive(Default, Debug)]
pub struct Recovered {
    pub index: Index,
    /// Files that were put aside.
    pub damaged: Vec<PathBuf>,
    /// Bytes of torn tails that were cut off.
    pub torn_bytes: u64,
}

/// Reads a spool folder, making it if needed. `visit` is called for every readable record, acknowledged or not.
pub fn recover(folder: &Path, mut visit: impl FnMut(&Record)) -> Result<Recovered, DiskError> {
    fs::create_dir_all(folder).map_err(DiskError::at("create", folder))?;
    finish_salvage(folder)?;
    let mut recovered = Recovered::default();
    for (path, stream) in segment_files(folder)? {
        recover_file(&path, stream, &mut recovered, &mut visit)?;
    }
    let acked = load_acked(folder);
    for (stream, seq) in acked {
        for path in recovered.index.ack(stream, seq) {
            disk::remove(&path)?;
        }
    }
    keep_acked(folder, &recovered.index.acked());
    Ok(recovered)
}

/// An earlier recovery was interrupted: a salvaged file whose target is missing takes its place. If its damaged source
/// is still there, it is salvaged once more and replaces this.
fn finish_salvage(folder: &Path) -> Result<(), DiskError> {
    let entries = fs::read_dir(folder).map_err(DiskError::at("list", folder))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == SALVAGED)) {
        let target = path.with_extension("seg");
        if target.exists() {
            disk::remove(&path)?;
        } else {
            fs::rename(&path, &target).map_err(DiskError::at("rename", &path))?;
        }
    }
    Ok(())
}

fn segment_files(folder: &Path) -> Result<Vec<(PathBuf, Stream)>, DiskError> {
    let entries = fs::read_dir(folder).map_err(DiskError::at("list", folder))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let named = paths.filter_map(|path| {
        let (stream, first) = parse_segment_name(path.file_name()?.to_str()?)?;
        Some((stream, first, path))
    });
    let mut files: Vec<(Stream, u64, PathBuf)> = named.collect();
    files.sort();
    Ok(files.into_iter().map(|(stream, _, path)| (path, stream)).collect())
}

fn recover_file(
    path: &Path,
    stream: Stream,
    recovered: &mut Recovered,
    visit: &mut impl FnMut(&Record),
) -> Result<(), DiskError> {
    let bytes = fs::read(path).map_err(DiskError::at("read", path))?;
    let found = scan(&bytes, stream, visit);
    if found.runs.is_empty() {
        return put_aside_or_remove(path, &bytes, recovered);
    }
    if found.is_sound() {
        cut_tail(path, &bytes, &found, recovered)?;
        recovered.index.put(stream, segment_of(&found.runs[0], path.to_owned()));
        return Ok(());
    }
    salvage(path, stream, &bytes, &found.runs, recovered)
}

fn segment_of(run: &Run, path: PathBuf) -> Segment {
    Segment { first: run.first, last: run.last, bytes: run.bytes as u64, path, sealed: true }
}

/// A file without one readable record: torn at its start, unless it is long enough to have held some.
fn put_aside_or_remove(path: &Path, bytes: &[u8], recovered: &mut Recovered) -> Result<(), DiskError> {
    recovered.torn_bytes += bytes.len() as u64;
    if bytes.is_empty() { disk::remove(path) } else { put_aside(path, recovered) }
}

fn cut_tail(path: &Path, bytes: &[u8], found: &Scan, recovered: &mut Recovered) -> Result<(), DiskError> {
    if found.end == bytes.len() {
        return Ok(());
    }
    recovered.torn_bytes += (bytes.len() - found.end) as u64;
    let file = OpenOptions::new().write(true).open(path).map_err(DiskError::at("open", path))?;
    file.set_len(found.end as u64).map_err(DiskError::at("cut", path))?;
    file.sync_all().map_err(DiskError::at("sync", path))
}

/// Writes each run into a file of its own. All of them are complete before the damaged file gives up its name.
fn salvage(
    path: &Path,
    stream: Stream,
    bytes: &[u8],
    runs: &[Run],
    recovered: &mut Recovered,
) -> Result<(), DiskError> {
    let target_of = |run: &Run| path.with_file_name(segment_name(stream, run.first));
    for run in runs {
        let temporary = target_of(run).with_extension(SALVAGED);
        write_whole(&temporary, &bytes[run.offset..run.offset + run.bytes])?;
    }
    put_aside(path, recovered)?;
    for run in runs {
        let target = target_of(run);
        fs::rename(target.with_extension(SALVAGED), &target).map_err(DiskError::at("rename", &target))?;
        recovered.index.put(stream, segment_of(run, target));
    }
    disk::sync_folder(path)
}

fn write_whole(path: &Path, content: &[u8]) -> Result<(), DiskError> {
    let mut file = fs::File::create(path).map_err(DiskError::at("create", path))?;
    file.write_all(content).map_err(DiskError::at("write", path))?;
    file.sync_all().map_err(DiskError::at("sync", path))
}

fn put_aside(path: &Path, recovered: &mut Recovered) -> Result<(), DiskError> {
    let aside = path.with_extension("damaged");
    fs::rename(path, &aside).map_err(DiskError::at("put aside", path))?;
    disk::sync_folder(path)?;
    recovered.damaged.push(aside);
    Ok(())
}
