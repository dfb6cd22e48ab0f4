//! Packs a folder as an image layer with the system's tar.
//!
//! Invariant: names are sorted and owners numeric. `Times::None` also drops times, so equal files give an equal layer;
//! a tree with compiled Python keeps its times, or Python would compile it again at every start.

use std::path::Path;

use crate::error::Result;
use crate::program::{self, command};

/// Whether a layer keeps the times of its files.
pub enum Times {
    Kept,
    None,
}

/// Packs the folder's content, all of it owned by root when times are dropped.
pub fn pack(folder: &Path, out: &Path, times: &Times) -> Result<()> {
    let mut tar = command("tar", ["--sort=name", "--numeric-owner", "--one-file-system", "--format=gnu"]);
    if matches!(times, Times::None) {
        tar.args(["--mtime=@0", "--owner=0", "--group=0"]);
    }
    tar.args(["--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./dev/*"]);
    tar.arg("-C").arg(folder).arg("-cf").arg(out).arg(".");
    program::run("pack the layer", &mut tar).map(|_| ())
}
