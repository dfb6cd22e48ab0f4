//! The checkout: where it is and which files belong to it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command;

/// The top folder of the checkout.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every file that is tracked, or would be by `git add .`, relative to the top folder and sorted.
pub fn files() -> Result<Vec<String>> {
    let listed = command::output(
        command::new("git").args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root()),
    )
    .context("listing the files of the checkout")?;
    let mut files: Vec<String> =
        listed.lines().filter(|path| root().join(path).is_file()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The text of a file of the checkout; bytes that are no UTF-8 are replaced.
pub fn text(path: &str) -> Result<String> {
    let bytes = std::fs::read(root().join(path)).with_context(|| format!("reading {path}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
