//! The home folder of the testbed: where binaries, images and clusters lie.
//!
//! Owns the layout. Invariant: everything that the testbed writes outside a network namespace or a cgroup lies below
//! this folder. Fails when neither the variable nor a home folder is known; setting the variable repairs it.

use std::fs::File;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::error::{AtPath, Error, Result};
use crate::files;

/// The root of everything the testbed keeps.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

/// A lock that is held until it is dropped. Two commands on one cluster run one after the other.
pub struct Held(#[expect(dead_code, reason = "held for its drop")] Flock<File>);

impl Home {
    /// `$SQUADRON_TESTBED_HOME`, or `squadron-testbed` in the user's cache folder.
    pub fn find() -> Result<Self> {
        let named = std::env::var_os("SQUADRON_TESTBED_HOME").map(PathBuf::from);
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let folder = named
            .or_else(|| cache.or(user).map(|cache| cache.join("squadron-testbed")))
            .ok_or_else(|| {
                Error::Refused(
                    "no home folder is known: set SQUADRON_TESTBED_HOME to a folder for the testbed".into(),
                )
            })?;
        files::folder(&folder)?;
        Ok(Self(folder.canonicalize().at("find", &folder)?))
    }

    #[cfg(test)]
    pub fn at(folder: &Path) -> Self {
        Self(folder.to_path_buf())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Binaries that were built.
    pub fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }

    /// One built binary.
    pub fn binary(&self, name: &str) -> PathBuf {
        self.bin().join(name)
    }

    /// Image archives.
    pub fn images(&self) -> PathBuf {
        self.0.join("images")
    }

    /// Go modules from which binaries are built.
    pub fn go(&self) -> PathBuf {
        self.0.join("go")
    }

    /// The folder of one cluster.
    pub fn cluster(&self, name: &str) -> PathBuf {
        self.0.join("clusters").join(name)
    }

    /// Waits for the lock of this name and holds it.
    pub fn lock(&self, name: &str) -> Result<Held> {
        let folder = self.0.join("locks");
        files::folder(&folder)?;
        let path = folder.join(name);
        let file = File::options().create(true).append(true).open(&path).at("open the lock", &path)?;
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(lock) => Ok(Held(lock)),
            Err((_, errno)) => Err(std::io::Error::from(errno)).at("take the lock", &path),
        }
    }
}
