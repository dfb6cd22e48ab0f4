//! Debian packages that the testbed needs from the machine.
//!
//! Invariant: a package counts as present when the thing it brings is there, whoever installed it. As root on Debian the
//! missing ones are installed; otherwise the error names them precisely, and installing them repairs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::Uid;

use crate::error::{Error, Result};
use crate::program::{self, command};
use crate::progress::Progress;

/// How a package is recognised.
enum Probe {
    /// A program in the search path.
    Program(&'static str),
    /// One of these files.
    File(&'static [&'static str]),
    /// This file in any subfolder of the folder.
    Below(&'static str, &'static str),
}

const NEEDED: [(&str, Probe); 12] = [
    ("containerd", Probe::Program("containerd")),
    ("runc", Probe::Program("runc")),
    ("containernetworking-plugins", Probe::File(&["/usr/lib/cni/bridge", "/opt/cni/bin/bridge"])),
    ("iptables", Probe::Program("iptables")),
    ("nftables", Probe::Program("nft")),
    ("iproute2", Probe::Program("ip")),
    ("procps", Probe::Program("sysctl")),
    ("conntrack", Probe::Program("conntrack")),
    ("debootstrap", Probe::Program("debootstrap")),
    ("postgresql", Probe::Below("/usr/lib/postgresql", "bin/postgres")),
    ("gcc", Probe::Program("gcc")),
    ("libc6-dev", Probe::File(&["/usr/include/stdio.h"])),
];

/// Installs what is missing, or says what a person has to install.
pub fn ensure() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !Uid::effective().is_root() || find("apt-get").is_none() {
        return Err(Error::Refused(format!(
            "these Debian packages or their like are missing: {names}; install them, or run this command as root on Debian"
        )));
    }
    Progress::new("packages").step(&format!("installing {names}"), "1 min", || {
        program::run("refresh the package lists", &mut apt(&["update", "-q"]))?;
        let mut words = vec!["install", "-q", "-y", "--no-install-recommends"];
        words.extend(&missing);
        program::run(&format!("install {names}"), &mut apt(&words)).map(|_| ())
    })
}

/// Refuses everybody but root, who alone can make namespaces, mounts and cgroups.
pub fn must_be_root() -> Result<()> {
    if Uid::effective().is_root() {
        return Ok(());
    }
    Err(Error::Refused(
        "local clusters need root: run this with sudo, or use clusters that you have with `--contexts`"
            .into(),
    ))
}

/// Packages whose things are absent.
pub fn missing() -> Vec<&'static str> {
    NEEDED.iter().filter(|(_, probe)| !probe.is_there()).map(|(name, _)| *name).collect()
}

impl Probe {
    fn is_there(&self) -> bool {
        match self {
            Self::Program(name) => find(name).is_some(),
            Self::File(places) => places.iter().any(|place| Path::new(place).exists()),
            Self::Below(folder, file) => std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .any(|entry| entry.path().join(file).exists()),
        }
    }
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn apt(words: &[&str]) -> Command {
    let mut apt = command("apt-get", words);
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_tell_present_from_absent() {
        assert!(Probe::Program("sh").is_there());
        assert!(!Probe::Program("no-such-program-here").is_there());
        assert!(Probe::File(&["/nowhere", "/proc/self/stat"]).is_there());
        assert!(!Probe::File(&["/nowhere"]).is_there());
        assert!(Probe::Below("/proc", "stat").is_there());
        assert!(!Probe::Below("/nowhere", "stat").is_there());
    }
}
