//! The Ray image: a minimal Debian with Python, and Ray from the Python package index.
//!
//! Invariant: packages come from the registries that this machine is set up for; none is named here, and the settings
//! used while building do not stay in the image. Fails when a registry cannot be reached; building again repairs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{AtPath, Result};
use crate::files;
use crate::hash::Key;
use crate::home::Home;
use crate::images::RAY;
use crate::images::layer::Times;
use crate::images::oci::Image;
use crate::images::recipe::{self, Recipe};
use crate::program::{self, command};

const SUITE: &str = "bookworm";
const PACKAGES: &str = "ca-certificates,iproute2,procps,python3,python3-pip,tini,wget";
const RAY_PACKAGE: &str = "ray[default]==2.60.0";
/// Changes when the steps below change.
const STEPS: &str = "1";

/// Certificates of the build machine, which a private package index may need.
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";

/// Makes the image unless it is there.
pub fn ensure(home: &Home) -> Result<PathBuf> {
    let mut key = Key::new("ray");
    for part in [RAY, SUITE, PACKAGES, RAY_PACKAGE, STEPS] {
        key = key.part(part.as_bytes());
    }
    let recipe = Recipe {
        short: "ray",
        key: key.finish(),
        image: image(),
        times: Times::Kept,
        usually: "3 min the first time",
    };
    recipe::ensure(home, &recipe, fill)
}

fn image() -> Image {
    let environment =
        ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/ray", "LANG=C.UTF-8", "PYTHONUNBUFFERED=1"];
    Image {
        reference: RAY.into(),
        user: "1000:100",
        environment: environment.map(str::to_owned).to_vec(),
        entrypoint: Vec::new(),
        command: vec!["/bin/bash".into()],
        folder: "/home/ray",
    }
}

fn fill(root: &Path) -> Result<()> {
    debootstrap(root)?;
    borrow_settings(root)?;
    install_ray(root)?;
    add_user(root)?;
    tidy(root)
}

fn debootstrap(root: &Path) -> Result<()> {
    let mut words = vec!["--variant=minbase".to_owned(), format!("--include={PACKAGES}"), SUITE.to_owned()];
    words.push(root.display().to_string());
    words.extend(mirror());
    program::run("lay a minimal Debian", &mut command("debootstrap", words)).map(|_| ())
}

/// The mirror from which this machine itself installs the suite; without one debootstrap knows a default.
fn mirror() -> Option<String> {
    let mut asked =
        command("apt-get", ["indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]);
    let answer = program::run("find the mirror", &mut asked).ok()?;
    let line = answer.lines().find(|line| line.split(' ').nth(1) == Some(SUITE))?;
    line.split(' ').next().map(str::to_owned)
}

fn borrow_settings(root: &Path) -> Result<()> {
    for file in ["etc/resolv.conf", "etc/pip.conf", CERTIFICATES] {
        let from = Path::new("/").join(file);
        if from.exists() {
            let to = root.join(file);
            std::fs::copy(&from, &to).at("copy to", &to)?;
        }
    }
    Ok(())
}

fn install_ray(root: &Path) -> Result<()> {
    let words = [
        "python3",
        "-m",
        "pip",
        "install",
        "--break-system-packages",
        "--no-cache-dir",
        "--only-binary=:all:",
    ];
    let mut pip = inside(root, &words);
    // Folders of this machine do not exist inside; the certificates were copied to the usual place.
    pip.arg(RAY_PACKAGE).env_remove("PIP_FIND_LINKS").env("PIP_CERT", format!("/{CERTIFICATES}"));
    program::run("install Ray into the image", &mut pip).map(|_| ())
}

fn add_user(root: &Path) -> Result<()> {
    let words = ["useradd", "--uid", "1000", "--gid", "100", "--create-home", "--shell", "/bin/bash", "ray"];
    program::run("add the user ray", &mut inside(root, &words))?;
    let python = root.join("usr/local/bin/python");
    std::os::unix::fs::symlink("/usr/bin/python3", &python).at("link", &python)
}

fn tidy(root: &Path) -> Result<()> {
    program::run("restore the certificates", &mut inside(root, &["update-ca-certificates", "--fresh"]))?;
    for path in [
        "etc/resolv.conf",
        "etc/pip.conf",
        "var/cache/apt",
        "var/lib/apt/lists",
        "var/log",
        "root/.cache",
        "tmp",
    ] {
        files::remove(&root.join(path))?;
    }
    for folder in ["var/log", "var/cache/apt/archives/partial", "var/lib/apt/lists/partial", "tmp"] {
        files::folder(&root.join(folder))?;
    }
    program::run("open /tmp to all", &mut inside(root, &["chmod", "1777", "/tmp"])).map(|_| ())
}

fn inside(root: &Path, words: &[&str]) -> Command {
    let mut chroot = command("chroot", [root]);
    chroot.args(words).env("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
    chroot
}
