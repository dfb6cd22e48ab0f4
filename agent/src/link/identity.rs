//! Identity: the key that this agent holds, and its signature under a hello.
//!
//! Owns the file `agent.key` (mode 0600) in the spool's folder. It lives as long as the folder; a container that
//! restarts keeps it, a new pod with a new folder makes its own.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use ed25519_dalek::{Signer, SigningKey};
use squadron_core::link::hello_bytes;

use super::token::Token;

const FILE: &str = "agent.key";

/// The agent's Ed25519 key. Its `Debug` shows the public half only.
#[derive(Clone, Debug)]
pub struct Identity(SigningKey);

impl Identity {
    /// Reads the key, or makes one.
    pub fn load(folder: &Path) -> io::Result<Identity> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => {
                let seed: [u8; 32] = bytes.try_into().map_err(|_| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("{} is no key; delete it", path.display()))
                })?;
                Ok(Identity(SigningKey::from_bytes(&seed)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path),
            Err(error) => Err(error),
        }
    }

    pub fn public_key(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    /// Proves to the asker of `nonce` that this token is shown by the holder of the key.
    pub fn sign(&self, nonce: &[u8], cluster: &str, token: &Token) -> [u8; 64] {
        self.0.sign(&hello_bytes(nonce, cluster, token.pod_uid(), &token.sha256())).to_bytes()
    }
}

/// Written under another name first, so that a crash leaves no half a key.
fn make(path: &Path) -> io::Result<Identity> {
    let seed: [u8; 32] = rand::random();
    let temporary = path.with_extension("tmp");
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&temporary)?;
    file.write_all(&seed)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    Ok(Identity(SigningKey::from_bytes(&seed)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_stays_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let made = Identity::load(folder.path()).unwrap();
        let read = Identity::load(folder.path()).unwrap();
        assert_eq!(made.public_key(), read.public_key());
        let mode = fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
