//! Loads image archives into a local cluster.
//!
//! Invariant: an archive whose images are present with the same digest is not loaded again.

use crate::error::Result;
use crate::images::Archive;
use crate::local::cluster::Cluster;
use crate::local::containerd::ctr;
use crate::program;
use crate::progress::Progress;

/// Loads the archive unless its images are present.
pub fn load(cluster: &Cluster, archive: &Archive) -> Result<()> {
    if archive.is_among(&present(cluster)?) {
        return Ok(());
    }
    let names: Vec<&str> = archive.images.iter().map(|(name, _)| name.as_str()).collect();
    let what = match names.is_empty() {
        true => archive.path.display().to_string(),
        false => names.join(", "),
    };
    let size = archive.path.metadata().map(|meta| meta.len() >> 20).unwrap_or_default();
    let usually = format!("{} s for {size} MiB", 1 + size / 40);
    Progress::new(cluster.name.as_str()).step(&format!("loading {what}"), &usually, || {
        let mut import = ctr(cluster, ["images", "import"]);
        program::run(&format!("load {what}"), import.arg(&archive.path)).map(|_| ())
    })
}

/// Full name and digest of every image in the cluster.
pub fn present(cluster: &Cluster) -> Result<Vec<(String, String)>> {
    Ok(parse(&program::run("list the images", &mut ctr(cluster, ["images", "ls"]))?))
}

/// The first and third column of the table: `REF TYPE DIGEST SIZE …`.
fn parse(table: &str) -> Vec<(String, String)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let digest = words.find(|word| word.starts_with("sha256:"))?;
        (!name.starts_with("sha256:")).then(|| (name.to_owned(), digest.to_owned()))
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_digests_come_out_of_the_table() {
        let table = "REF TYPE DIGEST SIZE PLATFORMS LABELS\n\
            docker.io/a/b:1 application/vnd.oci.image.manifest.v1+json sha256:11 492.0 MiB linux/amd64 io.cri-containerd.image=managed\n\
            sha256:22 application/vnd.oci.image.manifest.v1+json sha256:11 492.0 MiB linux/amd64 -\n";
        assert_eq!(parse(table), [("docker.io/a/b:1".to_owned(), "sha256:11".to_owned())]);
        assert!(parse("").is_empty());
    }
}
