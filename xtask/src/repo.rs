//! The checkout: which files belong to it.

use anyhow::{Context, Result};

use squadron_e2e::command::{self, root};

/// Every file that is tracked, or would be by `git add .`, relative to the top folder and sorted.
pub fn files() -> Result<Vec<String>> {
    let mut list = command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let listed = command::output(&mut list).context("listing the files of the checkout")?;
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
