//! Writes an OCI image layout with one image of one layer.
//!
//! Invariant: the same layer, name and settings give the same archive, byte for byte, so a digest identifies the content.
//! Fails on I/O alone; writing again repairs it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::error::{AtPath, Result};
use crate::hash;
use crate::images::ustar;

/// What the image is called and how its containers start.
pub struct Image {
    /// Name and tag, such as `rayproject/ray:2.60.0`.
    pub reference: String,
    /// User and group, such as `1000:100`.
    pub user: &'static str,
    pub environment: Vec<String>,
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    pub folder: &'static str,
}

/// A JSON document and its digest.
struct Blob {
    bytes: Vec<u8>,
    digest: String,
}

impl Blob {
    fn new(value: &Value) -> Self {
        let bytes = value.to_string().into_bytes();
        let digest = hash::bytes(&bytes);
        Self { bytes, digest }
    }
}

/// Writes the archive and gives the manifest's digest.
pub fn write(out: &Path, layer: &Path, image: &Image) -> Result<String> {
    let digest = hash::file(layer)?;
    let size = layer.metadata().at("measure", layer)?.len();
    let configuration = Blob::new(&configuration(image, &digest));
    let manifest = Blob::new(&manifest(&configuration, &digest, size));
    let index = index(image, &manifest).to_string();
    let file = File::create(out).at("write", out)?;
    let mut archive = BufWriter::with_capacity(1 << 20, file);
    let mut add = |name: &str, bytes: &[u8]| {
        ustar::add(&mut archive, name, bytes.len() as u64, &mut &bytes[..]).at("write", out)
    };
    add("oci-layout", br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    add("index.json", index.as_bytes())?;
    add(&blob(&manifest.digest), &manifest.bytes)?;
    add(&blob(&configuration.digest), &configuration.bytes)?;
    let mut content = File::open(layer).at("open", layer)?;
    ustar::add(&mut archive, &blob(&digest), size, &mut content).at("write", out)?;
    ustar::finish(&mut archive).and_then(|()| archive.flush()).at("write", out)?;
    Ok(format!("sha256:{}", manifest.digest))
}

fn blob(digest: &str) -> String {
    format!("blobs/sha256/{digest}")
}

fn configuration(image: &Image, layer: &str) -> Value {
    json!({
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "User": image.user,
            "Env": image.environment,
            "Entrypoint": image.entrypoint,
            "Cmd": image.command,
            "WorkingDir": image.folder,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{layer}")]},
        "history": [{"created_by": "squadron-testbed"}],
    })
}

fn manifest(configuration: &Blob, layer: &str, size: u64) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": format!("sha256:{}", configuration.digest),
            "size": configuration.bytes.len(),
        },
        "layers": [{
            "mediaType": "application/vnd.oci.image.layer.v1.tar",
            "digest": format!("sha256:{layer}"),
            "size": size,
        }],
    })
}

fn index(image: &Image, manifest: &Blob) -> Value {
    let reference = qualified(&image.reference);
    let tag = reference.rsplit(':').next().unwrap_or("latest").to_owned();
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": format!("sha256:{}", manifest.digest),
            "size": manifest.bytes.len(),
            "platform": {"architecture": architecture(), "os": "linux"},
            "annotations": {
                "io.containerd.image.name": reference,
                "org.opencontainers.image.ref.name": tag,
            },
        }],
    })
}

/// The full name under which the kubelet looks an image up.
pub fn qualified(reference: &str) -> String {
    let (first, rest) = reference.split_once('/').unwrap_or(("", reference));
    if first.contains(['.', ':']) || first == "localhost" {
        return reference.to_owned();
    }
    let library = if rest == reference { "library/" } else { "" };
    format!("docker.io/{library}{reference}")
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn image() -> Image {
        Image {
            reference: "a/b:1".into(),
            user: "0:0",
            environment: vec!["PATH=/bin".into()],
            entrypoint: vec![],
            command: vec!["/x".into()],
            folder: "/",
        }
    }

    fn written() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("layer"), "not really a layer").unwrap();
        let digest = write(&folder.path().join("out.tar"), &folder.path().join("layer"), &image()).unwrap();
        (folder, digest)
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn golden_digest() {
        let (folder, digest) = written();
        assert_eq!(digest, "sha256:6576d573d5c46221522c04f7d22ece7c691969f25dd1cbb48a9a41c243c857d8");
        let archive = hash::file(&folder.path().join("out.tar")).unwrap();
        assert_eq!(archive, "5b425a1d9c2330ed6e6b0712de9fb77fbb8ab63ef29f05fb5d7343677c34ffb7");
    }

    #[test]
    fn another_layer_is_another_image() {
        let (folder, digest) = written();
        std::fs::write(folder.path().join("layer"), "another layer").unwrap();
        assert_ne!(
            digest,
            write(&folder.path().join("out.tar"), &folder.path().join("layer"), &image()).unwrap()
        );
    }

    #[test]
    fn names_are_those_the_kubelet_looks_for() {
        assert_eq!(qualified("rayproject/ray:2.60.0"), "docker.io/rayproject/ray:2.60.0");
        assert_eq!(qualified("redis:7.4"), "docker.io/library/redis:7.4");
        assert_eq!(qualified("squadron.dev/agent:dev"), "squadron.dev/agent:dev");
        assert_eq!(qualified("localhost/x:1"), "localhost/x:1");
        assert_eq!(qualified("host:5000/x:1"), "host:5000/x:1");
    }
}
