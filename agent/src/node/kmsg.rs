//! Kernel log: records of `/dev/kmsg`, or of a file in the same format, one after another.
//!
//! Each record is `priority,sequence,microseconds since boot,flags;text`. The device gives one record per read and
//! blocks at the end; a plain file is asked again for more.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    os::unix::fs::FileTypeExt,
    path::Path,
    time::Duration,
};

use tokio::sync::mpsc::Sender;

/// The kernel's own limit of a record, with room for its header.
const LONGEST: usize = 8_192;
/// Pause between two looks at a plain file.
const LOOK: Duration = Duration::from_millis(500);

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub seq: u64,
    /// Since boot.
    pub micros: u64,
    pub text: String,
}

/// Sends records from number `from` on (`None`: only those that come from now on) until nobody takes them.
pub fn read(path: &Path, from: Option<u64>, out: &Sender<Record>) -> io::Result<()> {
    let file = File::open(path).map_err(|error| named(path, &error))?;
    let is_device = file.metadata()?.file_type().is_char_device();
    let wanted = |record: &Record| from.is_none_or(|from| record.seq >= from);
    if is_device { read_device(file, from, &wanted, out) } else { read_file(file, from, &wanted, out) }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot open kernel log {}: {error}", path.display()))
}

fn read_device(
    mut file: File,
    from: Option<u64>,
    wanted: &dyn Fn(&Record) -> bool,
    out: &Sender<Record>,
) -> io::Result<()> {
    if from.is_none() {
        io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
    }
    let mut buffer = vec![0; LONGEST];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                let text = String::from_utf8_lossy(&buffer[..length]);
                if !pass_on(&text, wanted, out) {
                    return Ok(());
                }
            }
            // The kernel overwrote records that were not read yet.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                tracing::warn!("kernel records were overwritten before they could be read");
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_file(
    file: File,
    from: Option<u64>,
    wanted: &dyn Fn(&Record) -> bool,
    out: &Sender<Record>,
) -> io::Result<()> {
    let mut reader = BufReader::new(file);
    if from.is_none() {
        io::Seek::seek(&mut reader, io::SeekFrom::End(0))?;
    }
    let mut line = Vec::new();
    while !out.is_closed() {
        let got = (&mut reader).take(LONGEST as u64).read_until(b'\n', &mut line)?;
        if line.ends_with(b"\n") || line.len() >= LONGEST {
            if !pass_on(&String::from_utf8_lossy(&line), wanted, out) {
                return Ok(());
            }
            line.clear();
        } else if got == 0 {
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// False when nobody takes records any more.
fn pass_on(text: &str, wanted: &dyn Fn(&Record) -> bool, out: &Sender<Record>) -> bool {
    match parse(text).filter(wanted) {
        Some(record) => out.blocking_send(record).is_ok(),
        None => true,
    }
}

/// Reads one record; continuation lines (` KEY=value`) are left out.
fn parse(text: &str) -> Option<Record> {
    let (header, rest) = text.split_once(';')?;
    let mut fields = header.split(',');
    let _priority = fields.next()?;
    let (seq, micros) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Record { seq, micros, text: rest.lines().next().unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use tokio::sync::mpsc;

    #[test]
    fn records_lose_their_header_and_their_properties() {
        let record = parse("3,812,99000,-;NVRM: Xid\n SUBSYSTEM=pci\n").unwrap();
        assert_eq!(record, Record { seq: 812, micros: 99_000, text: "NVRM: Xid".into() });
        assert_eq!(parse("no header"), None);
    }

    #[tokio::test]
    async fn a_file_is_followed_from_a_number_and_takes_lines_that_come_in_pieces() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "6,0,1,-;old\n6,1,2,-;first\n6,2,3,-;sec").unwrap();
        let (out, mut records) = mpsc::channel(4);
        let path = file.path().to_owned();
        let reading = tokio::task::spawn_blocking(move || read(&path, Some(1), &out));
        assert_eq!(records.recv().await.unwrap().text, "first");
        writeln!(file, "ond").unwrap();
        assert_eq!(records.recv().await.unwrap().text, "second");
        drop(records);
        reading.await.unwrap().unwrap();
    }
}
