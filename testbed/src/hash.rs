//! SHA-256 of bytes and files, in hexadecimal.
//!
//! Image layers are half a gigabyte, so this is the TLS library's own code, which is fast in debug builds too.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};

use crate::error::{AtPath, Result};

/// A hash that grows by parts. Each part is prefixed with its length, so parts cannot be shifted into each other.
pub struct Key(Context);

impl Key {
    /// An empty key for this kind of thing.
    pub fn new(kind: &str) -> Self {
        Self(Context::new(&SHA256)).part(kind.as_bytes())
    }

    /// Adds one part.
    pub fn part(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// The key as 64 hexadecimal digits.
    pub fn finish(self) -> String {
        hex::encode(self.0.finish())
    }
}

/// SHA-256 of some bytes.
pub fn bytes(bytes: &[u8]) -> String {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    hex::encode(context.finish())
}

/// SHA-256 of a file's content.
pub fn file(path: &Path) -> Result<String> {
    let mut file = File::open(path).at("open", path)?;
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).at("read", path)?;
        if read == 0 {
            return Ok(hex::encode(context.finish()));
        }
        context.update(&buffer[..read]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn known_digest() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(bytes(b"abc"), abc);
        let file_of = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file_of.path(), "abc").unwrap();
        assert_eq!(file(file_of.path()).unwrap(), abc);
    }

    #[test]
    fn parts_cannot_be_shifted() {
        assert_ne!(
            Key::new("k").part(b"ab").part(b"c").finish(),
            Key::new("k").part(b"a").part(b"bc").finish()
        );
        assert_eq!(Key::new("k").part(b"ab").finish(), Key::new("k").part(b"ab").finish());
    }
}
