//! The agent's own key: made once per spool volume, never leaves it.

use std::{fs, io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use anyhow::Context;
use ed25519_dalek::{Signer, SigningKey};
use rand::RngCore;

/// An Ed25519 key pair.
pub struct AgentKey(SigningKey);

impl AgentKey {
    /// Reads the key at `path`, or makes one that only this user can read.
    pub fn load_or_make(path: &Path) -> anyhow::Result<AgentKey> {
        match fs::read(path) {
            Ok(bytes) => {
                let bytes: [u8; 32] =
                    bytes.try_into().ok().with_context(|| format!("{} is no key", path.display()))?;
                Ok(AgentKey(SigningKey::from_bytes(&bytes)))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(path),
            Err(error) => Err(error).with_context(|| format!("cannot read the key {}", path.display())),
        }
    }

    pub fn public(&self) -> [u8; 32] {
        self.0.verifying_key().to_bytes()
    }

    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

/// Written beside its place first, so that a crash never leaves half a key there.
fn make(path: &Path) -> anyhow::Result<AgentKey> {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    let beside = path.with_extension("new");
    let _left_over = fs::remove_file(&beside);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path).with_context(|| format!("cannot store the key {}", path.display()))?;
    Ok(AgentKey(SigningKey::from_bytes(&bytes)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let first = AgentKey::load_or_make(&path).unwrap().public();
        assert_eq!(AgentKey::load_or_make(&path).unwrap().public(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
