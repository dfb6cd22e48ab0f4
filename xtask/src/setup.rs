//! Setup: what the machine must have before anything of ours is built.
//!
//! Debian packages are installed when they are missing and we may; toolchains are only looked for, because which of
//! the many ways to install them is right is the owner's choice.

use anyhow::{Result, bail};
use squadron_e2e::command;

/// To build: a C compiler for aws-lc, git for the list of files. What clusters need, the testbed installs itself.
const BUILD: &[&str] =
    &["build-essential", "cmake", "git", "ca-certificates", "procps", "util-linux", "postgresql"];
/// To look at the console as people do.
const BROWSER: &[&str] = &["chromium"];

const TOOLCHAINS: &[(&str, &str)] = &[
    ("cargo", "Rust 1.95 or newer"),
    ("go", "Go 1.26 or newer (it builds Kubernetes, etcd, CoreDNS and Helm from their modules)"),
    ("node", "Node.js 20 or newer"),
    ("npm", "npm 11 or newer"),
];

/// Makes sure that everything is there.
pub fn run() -> Result<()> {
    for (program, what) in TOOLCHAINS {
        if !command::exists(program) {
            bail!("`{program}` is not in PATH. Install {what}, then run this again.");
        }
    }
    let missing: Vec<&str> =
        [BUILD, BROWSER].concat().into_iter().filter(|name| !is_installed(name)).collect();
    if missing.is_empty() { Ok(()) } else { install(&missing) }
}

fn is_installed(package: &str) -> bool {
    let asked = command::capture(command::new("dpkg-query").args(["-W", "-f", "${Status}", package]));
    asked.is_ok_and(|answer| answer.stdout.ends_with("ok installed"))
}

fn install(packages: &[&str]) -> Result<()> {
    if !command::exists("apt-get") {
        bail!("these Debian packages are missing and there is no apt-get: {}", packages.join(" "));
    }
    println!("installing Debian packages: {}", packages.join(" "));
    command::run(command::new("apt-get").args(["update", "-q"]))?;
    let mut install = command::new("apt-get");
    install.args(["install", "-q", "-y", "--no-install-recommends"]).args(packages);
    command::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}
