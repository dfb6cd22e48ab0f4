//! An image archive on disk: which image it holds, under which digest.
//!
//! Invariant: what it says is read from the archive itself, so any OCI layout can be loaded, whoever made it.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{AtPath, Error, Result};
use crate::images::{oci, ustar};

/// The index of an archive is small; anything larger is not one.
const LARGEST_INDEX: u64 = 1 << 20;

/// One archive with its images.
#[derive(Debug)]
pub struct Archive {
    pub path: PathBuf,
    /// Full name and digest of each image that has a name.
    pub images: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    digest: String,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

impl Archive {
    /// Reads the index. An archive in another format has no names here and is always loaded.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(|source| missing(path, source))?;
        let images = match ustar::find(&mut file, "index.json", LARGEST_INDEX).at("read", path)? {
            Some(index) => {
                parse(&index).map_err(|source| Error::Json { path: path.to_path_buf(), source })?
            }
            None => Vec::new(),
        };
        Ok(Self { path: path.to_path_buf(), images })
    }

    /// True when all images of the archive are among these (full name, digest) pairs.
    pub fn is_among(&self, present: &[(String, String)]) -> bool {
        !self.images.is_empty() && self.images.iter().all(|image| present.contains(image))
    }
}

fn parse(index: &[u8]) -> serde_json::Result<Vec<(String, String)>> {
    let index: Index = serde_json::from_slice(index)?;
    let named = |entry: Entry| {
        entry
            .annotations
            .get("io.containerd.image.name")
            .map(|name| (oci::qualified(name), entry.digest.clone()))
    };
    Ok(index.manifests.into_iter().filter_map(named).collect())
}

fn missing(path: &Path, source: std::io::Error) -> Error {
    if source.kind() == std::io::ErrorKind::NotFound {
        return Error::Refused(format!(
            "there is no image archive {}; `squadron-testbed build` makes `pause` and `ray`, `build-image` makes `agent`",
            path.display()
        ));
    }
    Error::File { step: "open", path: path.to_path_buf(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_and_digests_are_read() {
        let index = br#"{"manifests":[{"digest":"sha256:1","annotations":{"io.containerd.image.name":"a/b:1"}},{"digest":"sha256:2"}]}"#;
        let images = parse(index).unwrap();
        assert_eq!(images, [("docker.io/a/b:1".to_owned(), "sha256:1".to_owned())]);
        let archive = Archive { path: PathBuf::new(), images };
        assert!(archive.is_among(&[("docker.io/a/b:1".into(), "sha256:1".into())]));
        assert!(!archive.is_among(&[("docker.io/a/b:1".into(), "sha256:9".into())]));
    }

    #[test]
    fn archive_without_names_is_always_loaded() {
        assert!(!Archive { path: PathBuf::new(), images: vec![] }.is_among(&[]));
    }

    #[test]
    fn absent_archive_names_the_build() {
        assert!(
            Archive::open(Path::new("/nowhere.tar"))
                .unwrap_err()
                .to_string()
                .contains("squadron-testbed build")
        );
    }
}
