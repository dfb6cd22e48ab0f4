//! The agent's image: one binary, the shared libraries that it needs, and the certificates of public authorities.
//!
//! Invariant: the image holds exactly what the dynamic linker says that the binary needs, at the same paths.
//! Fails when a library is missing on this machine; the error names it.

use std::path::{Path, PathBuf};

use crate::error::{AtPath, Error, Result};
use crate::files;
use crate::hash::{self, Key};
use crate::home::Home;
use crate::images::layer::Times;
use crate::images::oci::Image;
use crate::images::recipe::{self, Recipe};
use crate::images::{AGENT, archive::Archive};
use crate::program::{self, command};

const PLACE: &str = "usr/local/bin/squadron-agent";
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Changes when the steps below change.
const STEPS: &str = "1";

/// Makes the image from a binary unless it is there, and gives its archive.
pub fn build(home: &Home, binary: &Path) -> Result<Archive> {
    let needed = libraries(binary)?;
    let mut key = Key::new("agent").part(STEPS.as_bytes()).part(hash::file(binary)?.as_bytes());
    for file in needed.iter().chain(certificates().iter()) {
        key = key.part(file.as_os_str().as_encoded_bytes()).part(hash::file(file)?.as_bytes());
    }
    let recipe =
        Recipe { short: "agent", key: key.finish(), image: image(), times: Times::None, usually: "3 s" };
    let path = recipe::ensure(home, &recipe, |root| fill(root, binary, &needed))?;
    Archive::open(&path)
}

fn image() -> Image {
    Image {
        reference: AGENT.into(),
        user: "65532:65532",
        environment: vec!["PATH=/usr/local/bin".into(), format!("SSL_CERT_FILE={CERTIFICATES}")],
        entrypoint: vec![format!("/{PLACE}")],
        command: Vec::new(),
        folder: "/",
    }
}

fn fill(root: &Path, binary: &Path, needed: &[PathBuf]) -> Result<()> {
    let place = root.join(PLACE);
    copy(binary, &place)?;
    program::run("drop debug information", command("strip", ["--strip-debug"]).arg(&place))?;
    for file in needed.iter().chain(certificates().iter()) {
        copy(file, &root.join(file.strip_prefix("/").unwrap_or(file)))?;
    }
    for folder in ["tmp", "etc"] {
        files::folder(&root.join(folder))?;
    }
    files::replace(&root.join("etc/passwd"), "root:x:0:0::/:\nagent:x:65532:65532::/:\n")?;
    program::run("open /tmp to all", command("chmod", ["1777"]).arg(root.join("tmp"))).map(|_| ())
}

/// Follows links, so that the file under the name that is asked for holds the content.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        files::folder(folder)?;
    }
    std::fs::copy(from, to).at("copy to", to).map(|_| ())
}

fn certificates() -> Option<PathBuf> {
    let path = PathBuf::from(CERTIFICATES);
    path.exists().then_some(path)
}

/// All shared libraries and the linker. A static binary needs none.
fn libraries(binary: &Path) -> Result<Vec<PathBuf>> {
    if !binary.is_file() {
        return Err(Error::Refused(format!(
            "there is no binary {}; build it first, for example with `cargo build -p squadron-agent`",
            binary.display()
        )));
    }
    match program::run("list the shared libraries", command("ldd", [binary]).env("LC_ALL", "C")) {
        Err(Error::Failed { said, .. }) if said.contains("not a dynamic executable") => Ok(Vec::new()),
        listed => parse(&listed?),
    }
}

fn parse(listed: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for line in listed.lines() {
        if let Some((name, _)) = line.split_once(" => not found") {
            let name = name.trim();
            return Err(Error::Refused(format!(
                "the binary needs {name}, which this machine lacks; install it"
            )));
        }
        let word = line.split_whitespace().find(|word| word.starts_with('/'));
        found.extend(word.map(PathBuf::from));
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn libraries_and_linker_are_taken_and_the_kernel_page_is_not() {
        let listed = "\tlinux-vdso.so.1 (0x7ffd)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x7f)\n\t/lib64/ld-linux-x86-64.so.2 (0x7f)\n";
        let names = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(parse(listed).unwrap(), names.map(PathBuf::from));
    }

    #[test]
    fn missing_library_is_named() {
        let error = parse("\tlibfoo.so.1 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libfoo.so.1"), "{error}");
    }

    #[test]
    fn absent_binary_names_the_build() {
        assert!(libraries(Path::new("/nowhere")).unwrap_err().to_string().contains("cargo build"));
    }
}
