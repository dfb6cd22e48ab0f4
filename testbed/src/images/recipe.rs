//! Makes an image archive when its recipe's key has changed, and keeps it otherwise.
//!
//! Invariant: `NAME.key` is written after `NAME.tar`, so an interrupted build is done again.

use std::path::{Path, PathBuf};

use crate::error::{AtPath, Result};
use crate::files;
use crate::home::Home;
use crate::images::layer::{self, Times};
use crate::images::oci::{self, Image};
use crate::mounts;
use crate::progress::Progress;

/// What an image is made of.
pub struct Recipe<'a> {
    /// Short name: the archive is `NAME.tar`.
    pub short: &'a str,
    /// Identifies everything that goes in.
    pub key: String,
    pub image: Image,
    pub times: Times,
    /// How long it takes, for the progress line.
    pub usually: &'a str,
}

/// Makes the archive unless it is there. `fill` lays the image's files into an empty folder.
pub fn ensure(home: &Home, recipe: &Recipe<'_>, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let _held = home.lock(&format!("image-{}", recipe.short))?;
    files::folder(&home.images())?;
    let archive = crate::images::path(home, recipe.short);
    let key = home.images().join(format!("{}.key", recipe.short));
    if archive.exists() && files::text(&key)?.as_deref() == Some(recipe.key.as_str()) {
        return Ok(archive);
    }
    Progress::new(recipe.short).step("making the image", recipe.usually, || {
        let work = home.images().join(format!("{}.work", recipe.short));
        clear(&work)?;
        make(&work, &archive, recipe, fill)?;
        files::replace(&key, &recipe.key)?;
        clear(&work)
    })?;
    Ok(archive)
}

fn make(
    work: &Path,
    archive: &Path,
    recipe: &Recipe<'_>,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let (root, packed, ready) = (work.join("root"), work.join("layer.tar"), work.join("image.tar"));
    files::folder(&root)?;
    fill(&root)?;
    layer::pack(&root, &packed, &recipe.times)?;
    oci::write(&ready, &packed, &recipe.image)?;
    std::fs::rename(&ready, archive).at("put in place", archive)
}

/// An interrupted build may have left a mount of `/proc` in its folder.
fn clear(work: &Path) -> Result<()> {
    mounts::detach(work)?;
    files::remove(work)
}
