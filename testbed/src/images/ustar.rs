//! Writes and lists plain tar archives (ustar) of regular files.
//!
//! Pure but for the reader and writer it is given. Invariant: the same files in the same order give the same bytes:
//! no time, owner or mode of this machine gets in.

use std::io::{self, Read, Seek, SeekFrom, Write};

const BLOCK: usize = 512;

/// Adds a file whose content comes from a reader of exactly `size` bytes.
pub fn add(out: &mut impl Write, name: &str, size: u64, content: &mut impl Read) -> io::Result<()> {
    out.write_all(&header(name, size)?)?;
    let copied = io::copy(content, out)?;
    if copied != size {
        return Err(io::Error::other(format!("{name} has {copied} bytes instead of {size}")));
    }
    out.write_all(&[0; BLOCK][..padding(size)])
}

/// Ends the archive.
pub fn finish(out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[0; 2 * BLOCK])
}

/// The content of a file of at most `limit` bytes in the archive, or nothing when there is no such file.
pub fn find(archive: &mut (impl Read + Seek), wanted: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; BLOCK];
    while archive.read_exact(&mut header).is_ok() && header[0] != 0 {
        let (name, size) = parse(&header)?;
        if name.trim_start_matches("./") == wanted && size <= limit {
            let mut content = Vec::new();
            archive.take(size).read_to_end(&mut content)?;
            return Ok(Some(content));
        }
        let skip = size.saturating_add(padding(size) as u64);
        archive.seek(SeekFrom::Current(i64::try_from(skip).map_err(io::Error::other)?))?;
    }
    Ok(None)
}

fn parse(header: &[u8; BLOCK]) -> io::Result<(String, u64)> {
    let text = |field: &[u8]| String::from_utf8_lossy(field).trim_end_matches(['\0', ' ']).to_owned();
    let size = text(&header[124..136]);
    let size =
        u64::from_str_radix(size.trim_start(), 8).map_err(|_| io::Error::other("not a tar archive"))?;
    Ok((text(&header[..100]), size))
}

fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}

fn header(name: &str, size: u64) -> io::Result<[u8; BLOCK]> {
    if name.len() > 100 || size >= 1 << 33 {
        return Err(io::Error::other(format!("{name} does not fit into a plain tar archive")));
    }
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{size:011o}\0"));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Cursor;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, content) in files {
            add(&mut out, name, content.len() as u64, &mut content.as_bytes()).unwrap();
        }
        finish(&mut out).unwrap();
        out
    }

    #[test]
    fn system_tar_reads_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.tar");
        let long = "x".repeat(700);
        std::fs::write(&file, archive(&[("a/b", "hello"), ("empty", ""), ("c", &long)])).unwrap();
        let tar = std::process::Command::new("tar").arg("-xf").arg(&file).current_dir(folder.path()).status();
        assert!(tar.unwrap().success());
        assert_eq!(std::fs::read_to_string(folder.path().join("a/b")).unwrap(), "hello");
        assert_eq!(std::fs::read_to_string(folder.path().join("c")).unwrap(), long);
        assert_eq!(std::fs::read_to_string(folder.path().join("empty")).unwrap(), "");
    }

    #[test]
    fn files_are_found_behind_others() {
        let bytes = archive(&[("first", &"y".repeat(1_000)), ("index.json", "{}")]);
        let found = |name: &str| find(&mut Cursor::new(&bytes), name, 100).unwrap();
        assert_eq!(found("index.json").unwrap(), b"{}");
        assert_eq!(found("first"), None, "over the limit");
        assert_eq!(found("other"), None);
    }

    #[test]
    fn damage_is_an_error_not_a_panic() {
        assert!(find(&mut Cursor::new(vec![b'x'; 2_000]), "a", 10).is_err());
        assert_eq!(find(&mut Cursor::new(Vec::new()), "a", 10).unwrap(), None);
    }

    #[test]
    fn short_content_is_refused() {
        assert!(add(&mut Vec::new(), "a", 5, &mut "abc".as_bytes()).is_err());
    }
}
