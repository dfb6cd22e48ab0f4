//! Mounts below a folder of the testbed.
//!
//! Invariant: only mount points below the folder are touched. They are detached lazily, since a dead container's file
//! system may still be referenced for a moment.

use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::error::{AtPath, Result};

/// Makes the folder a shared mount, so that what the kubelet mounts in its own namespace reaches containerd.
pub fn share(folder: &Path) -> Result<()> {
    if below(folder)?.iter().any(|point| point == folder) {
        return Ok(());
    }
    let none: Option<&str> = None;
    mount(Some(folder), folder, none, MsFlags::MS_BIND, none)
        .map_err(std::io::Error::from)
        .at("mount", folder)?;
    mount(none, folder, none, MsFlags::MS_SHARED, none).map_err(std::io::Error::from).at("share", folder)
}

/// Detaches every mount at or below the folder, the innermost first.
pub fn detach(folder: &Path) -> Result<()> {
    for point in below(folder)?.into_iter().rev() {
        let done = umount2(&point, MntFlags::MNT_DETACH).map_err(std::io::Error::from);
        match done {
            // Gone with its parent in the meantime.
            Err(error) if error.raw_os_error() == Some(nix::libc::EINVAL) => {}
            done => done.at("detach", &point)?,
        }
    }
    Ok(())
}

/// Mount points at or below the folder, in the order in which they were mounted.
pub fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let table = Path::new("/proc/self/mountinfo");
    let text = std::fs::read_to_string(table).at("read", table)?;
    Ok(points(&text).filter(|point| point.starts_with(folder)).collect())
}

/// The mount points of a mount table. Spaces and backslashes are written as octal numbers.
fn points(table: &str) -> impl Iterator<Item = PathBuf> {
    table.lines().filter_map(|line| line.split(' ').nth(4)).map(|field| {
        PathBuf::from(
            field.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_with_their_escapes() {
        let table = "1 2 0:5 / /a/b rw - tmpfs x rw\n3 2 0:5 / /a/b\\040c rw shared:1 - overlay o rw\n";
        let found: Vec<_> = points(table).collect();
        assert_eq!(found, [PathBuf::from("/a/b"), PathBuf::from("/a/b c")]);
    }

    #[test]
    fn a_neighbour_with_the_same_beginning_is_not_below() {
        let below = |point: &str| Path::new(point).starts_with("/c/east");
        assert!(below("/c/east/x") && below("/c/east") && !below("/c/east2/x"));
    }
}
