//! Small steps on files, each with an error that names the path.
//!
//! Invariant: `replace` is atomic: a reader or an interrupted run sees the old content or the new, never a part.
//! Fails with the path in the error; repeating the step repairs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{AtPath, Result};

/// Makes a folder and its parents.
pub fn folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).at("make the folder", path)
}

/// Writes the whole content under a temporary name beside the path, then renames it.
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let beside = path.with_added_extension("new");
    fs::write(&beside, content).at("write", &beside)?;
    fs::rename(&beside, path).at("replace", path)
}

/// Like `replace`, readable by the owner alone.
pub fn replace_secret(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let beside = path.with_added_extension("new");
    fs::write(&beside, "").at("write", &beside)?;
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).at("protect", &beside)?;
    fs::write(&beside, content).at("write", &beside)?;
    fs::rename(&beside, path).at("replace", path)
}

/// Removes a file or a folder with all that is in it. Absent is fine.
pub fn remove(path: &Path) -> Result<()> {
    let gone = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    gone.at("remove", path)
}

/// The text of a file, or nothing when it is absent.
pub fn text(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).at("read", path),
    }
}

/// The entries of a folder in the order of their names; an absent folder has none.
pub fn entries(path: &Path) -> Result<Vec<std::path::PathBuf>> {
    let listed = match fs::read_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.at("list", path)?,
    };
    let mut found: Vec<_> = listed.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    found.sort();
    Ok(found)
}
