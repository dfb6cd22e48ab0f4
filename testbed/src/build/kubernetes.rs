//! The Kubernetes binaries: the pinned version, or another one resolved on this machine.
//!
//! Owns the pinned version, which is the one in the module file. Invariant: every version has a folder of its own, so
//! clusters of two versions run side by side. Fails when the registry has no such version; another version repairs it.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::build::go;
use crate::build::module::{Module, Program};
use crate::error::{AtPath, Error, Result};
use crate::files;
use crate::home::Home;
use crate::progress::Progress;

const PINNED: &str = include_str!("../../go/kubernetes/go.mod");
const PINNED_SUMS: &str = include_str!("../../go/kubernetes/go.sum");

const PROGRAMS: [(&str, &str); 6] = [
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
];

/// The version in the pinned module file, such as `v1.34.4`.
pub fn default_version() -> String {
    let line = PINNED.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes v"));
    format!("v{}", line.and_then(|rest| rest.split(' ').next()).unwrap_or_default())
}

/// Where a Kubernetes binary of this version lies.
pub fn binary(home: &Home, version: &str, name: &str) -> PathBuf {
    home.bin().join(folder(version)).join(name)
}

/// The module that builds this version.
pub fn module(home: &Home, version: &str) -> Result<Module> {
    let (major, minor) = parse_version(version)?;
    let (go_mod, go_sum) = match version == default_version() {
        true => (PINNED.into(), Some(PINNED_SUMS.into())),
        false => (resolve(home, version)?.into(), None),
    };
    Ok(Module {
        name: "kubernetes".into(),
        go_mod,
        go_sum,
        programs: PROGRAMS.map(|(binary, package)| Program { binary, package, built_as: binary }).into(),
        linker_flags: linker_flags(version, &major, &minor),
        folder: folder(version),
        usually: "7 min the first time",
    })
}

fn linker_flags(version: &str, major: &str, minor: &str) -> String {
    let variable = "k8s.io/component-base/version";
    format!(
        "-s -w -X {variable}.gitVersion={version} -X {variable}.gitMajor={major} -X {variable}.gitMinor={minor}"
    )
}

fn folder(version: &str) -> String {
    if version == default_version() { String::new() } else { version.to_owned() }
}

/// Major and minor of `vMAJOR.MINOR.PATCH`.
fn parse_version(version: &str) -> Result<(String, String)> {
    let parts: Vec<&str> = version.strip_prefix('v').unwrap_or_default().split('.').collect();
    let numeric =
        |part: &&str| !part.is_empty() && part.len() < 6 && part.bytes().all(|byte| byte.is_ascii_digit());
    match parts.as_slice() {
        [major, minor, patch] if [major, minor, patch].into_iter().all(numeric) => {
            Ok(((*major).to_owned(), (*minor).to_owned()))
        }
        _ => Err(Error::Refused(format!(
            "\"{version}\" is no Kubernetes version; write it like {}",
            default_version()
        ))),
    }
}

/// The module file of another version, resolved once and kept.
fn resolve(home: &Home, version: &str) -> Result<String> {
    let folder = home.go().join(format!("kubernetes-{version}"));
    let file = folder.join("go.mod");
    let resolved = folder.join("resolved");
    if !resolved.exists() {
        files::folder(&folder)?;
        Progress::new("kubernetes").step(&format!("resolving {version}"), "1 min", || {
            files::replace(&file, unresolved(version, &published(version)?))?;
            go::run(&folder, &format!("resolve Kubernetes {version}"), &["mod", "tidy"])?;
            files::replace(&resolved, "")
        })?;
    }
    std::fs::read_to_string(&file).at("read", &file)
}

/// The module file that Kubernetes itself published with this version.
fn published(version: &str) -> Result<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Downloaded {
        go_mod: PathBuf,
    }
    let step = format!("find Kubernetes {version}");
    let mut command = Command::new("go");
    command.args(["mod", "download", "-json", &format!("k8s.io/kubernetes@{version}")]).current_dir("/");
    let answer = crate::program::run(&step, &mut command)?;
    let downloaded: Downloaded =
        serde_json::from_str(&answer).map_err(|source| Error::Answer { step, source })?;
    std::fs::read_to_string(&downloaded.go_mod).at("read", &downloaded.go_mod)
}

/// Requires the version and replaces each staging module by its published version of the same release.
fn unresolved(version: &str, published: &str) -> String {
    let staged = version.replacen("v1.", "v0.", 1);
    let replacements: Vec<String> = published
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("replace ").split_once(" => ./staging/"))
        .map(|(name, _)| format!("\t{name} => {name} {staged}\n"))
        .collect();
    let go = published.lines().find(|line| line.starts_with("go ")).unwrap_or("go 1.24.0");
    let tools: Vec<String> = PROGRAMS.iter().map(|(_, package)| format!("\t{package}\n")).collect();
    format!(
        "module squadron.dev/testbed/kubernetes\n\n{go}\n\ntool (\n{})\n\nrequire k8s.io/kubernetes {version}\n\nreplace (\n{})\n",
        tools.concat(),
        replacements.concat()
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn pinned_version_is_read_from_the_module_file() {
        let version = default_version();
        assert!(parse_version(&version).is_ok(), "{version}");
        assert!(PINNED.contains(&format!("k8s.io/api => k8s.io/api {}", version.replacen("v1.", "v0.", 1))));
    }

    #[test]
    fn only_full_versions_pass() {
        assert_eq!(parse_version("v1.35.0").unwrap(), ("1".into(), "35".into()));
        for bad in ["1.35.0", "v1.35", "v1.35.0-rc.1", "v1..0", "", "v1.35.0/../x"] {
            assert!(parse_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn staging_modules_are_replaced_in_both_ways_of_writing() {
        let published = "module k8s.io/kubernetes\ngo 1.25.0\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\nreplace k8s.io/kms => ./staging/src/k8s.io/kms\n";
        let text = unresolved("v1.35.2", published);
        assert!(text.contains("\tk8s.io/api => k8s.io/api v0.35.2\n"), "{text}");
        assert!(text.contains("\tk8s.io/kms => k8s.io/kms v0.35.2\n"));
        assert!(text.contains("go 1.25.0") && text.contains("require k8s.io/kubernetes v1.35.2"));
    }

    #[test]
    fn another_version_has_its_own_folder() {
        let home = Home::at(std::path::Path::new("/h"));
        assert_eq!(binary(&home, &default_version(), "kubectl"), PathBuf::from("/h/bin/kubectl"));
        assert_eq!(binary(&home, "v1.35.0", "kubectl"), PathBuf::from("/h/bin/v1.35.0/kubectl"));
    }
}
