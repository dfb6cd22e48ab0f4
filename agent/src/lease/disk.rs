//! Disk: the end of the lease, for the next life on this machine.
//!
//! Invariant: what was read on another boot's clock is never compared with this one's. A file that is lost or cannot be
//! read means that nothing is known, which stops nothing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use squadron_core::lease::Tick;

use crate::spool::{DiskError, replace};

/// Names the boot of a machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Where the end is kept.
pub struct Kept {
    path: PathBuf,
    /// Empty where the machine does not name its boots; then nothing is kept.
    boot: String,
    found: Option<Tick>,
}

#[derive(Serialize, Deserialize)]
struct File {
    boot: String,
    until: u64,
}

/// The boot of this machine; empty where it has no name.
pub fn boot_id() -> String {
    fs::read_to_string(BOOT_ID).map(|text| text.trim().to_owned()).unwrap_or_default()
}

impl Kept {
    pub fn open(folder: &Path) -> Kept {
        Kept::of(folder, boot_id())
    }

    pub(super) fn of(folder: &Path, boot: String) -> Kept {
        let path = folder.join("lease.json");
        let read = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<File>(&bytes).ok());
        let found = read.filter(|file| !boot.is_empty() && file.boot == boot).map(|file| Tick(file.until));
        Kept { path, boot, found }
    }

    /// The end that the life before left.
    pub fn until(&self) -> Option<Tick> {
        self.found
    }

    pub fn write(&self, until: Tick) -> Result<(), DiskError> {
        if self.boot.is_empty() {
            return Ok(());
        }
        let file = File { boot: self.boot.clone(), until: until.0 };
        replace(&self.path, &serde_json::to_vec(&file).unwrap_or_default())
    }
}
