//! The data folder: ours alone, held by one control plane at a time.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use nix::fcntl::{Flock, FlockArg};

/// How long a former process may take to end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Held as long as the control plane runs; the system frees it whatever way the process ends.
pub struct Lock(#[allow(dead_code, reason = "held, never read")] Flock<File>);

/// Makes the folder if it is missing and takes it for this process. Others may pass through it (the database's user
/// must), but not list it; every secret in it has a mode of its own.
pub fn open(folder: &Path) -> anyhow::Result<Lock> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the data folder {}", folder.display()))?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711))
        .with_context(|| format!("the data folder {} is not ours", folder.display()))?;
    let path = folder.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    match lock_within(file, PATIENCE) {
        Some(lock) => Ok(Lock(lock)),
        None => bail!("another control plane uses the data folder {}; stop it first", folder.display()),
    }
}

/// Tries again until `patience` is over: a process that was killed holds its files until its last thread has ended.
fn lock_within(mut file: File, patience: Duration) -> Option<Flock<File>> {
    let begun = Instant::now();
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Some(lock),
            Err(_) if begun.elapsed() >= patience => return None,
            Err((returned, _)) => file = returned,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The folder from the root, so that other users' programs find it.
pub fn absolute(folder: &Path) -> anyhow::Result<PathBuf> {
    fs::canonicalize(folder).with_context(|| format!("cannot find the data folder {}", folder.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_serves_one_control_plane_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        let lock = open(&folder).unwrap();
        let second = open(&folder).err().unwrap().to_string();
        assert!(second.starts_with("another control plane uses the data folder"), "{second}");
        let ends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(lock);
        });
        assert!(open(&folder).is_ok(), "a former process that ends is waited for");
        ends.join().unwrap();
    }
}
