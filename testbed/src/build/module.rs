//! The Go modules from which binaries are built, with their pinned versions inside.
//!
//! Invariant: a module's files are part of this program, so the program builds the same binaries wherever it runs.

use std::borrow::Cow;

use crate::hash::Key;

/// A Go module whose `tool` lines name programs.
pub struct Module {
    /// Name of the folder and of `build --only`.
    pub name: String,
    pub go_mod: Cow<'static, str>,
    /// Absent for a module that is resolved on this machine.
    pub go_sum: Option<Cow<'static, str>>,
    pub programs: Vec<Program>,
    pub linker_flags: String,
    /// Folder below `bin`, empty for the default.
    pub folder: String,
    /// How long a build from nothing takes on two cores, for the progress line.
    pub usually: &'static str,
}

/// One program of a module.
pub struct Program {
    /// Name of the binary.
    pub binary: &'static str,
    /// Import path of its package.
    pub package: &'static str,
    /// The name that Go gives it.
    pub built_as: &'static str,
}

impl Module {
    /// True for the module's own name and for the names of its binaries.
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.programs.iter().any(|program| program.binary == name)
    }

    /// Identifies what the binaries are made of.
    pub fn key(&self, go_version: &str) -> String {
        let mut key =
            Key::new("go-binary").part(go_version.trim().as_bytes()).part(self.linker_flags.as_bytes());
        key = key.part(self.go_mod.as_bytes()).part(self.go_sum.as_deref().unwrap_or_default().as_bytes());
        for program in &self.programs {
            key = key.part(program.package.as_bytes());
        }
        key.finish()
    }
}

/// etcd and its client.
pub fn etcd() -> Module {
    Module {
        name: "etcd".into(),
        go_mod: include_str!("../../go/etcd/go.mod").into(),
        go_sum: Some(include_str!("../../go/etcd/go.sum").into()),
        programs: vec![
            Program { binary: "etcd", package: "go.etcd.io/etcd/server/v3", built_as: "server" },
            Program { binary: "etcdctl", package: "go.etcd.io/etcd/etcdctl/v3", built_as: "etcdctl" },
        ],
        linker_flags: "-s -w".into(),
        folder: String::new(),
        usually: "1.5 min the first time",
    }
}

/// CoreDNS and Helm.
pub fn addons() -> Module {
    Module {
        name: "addons".into(),
        go_mod: include_str!("../../go/addons/go.mod").into(),
        go_sum: Some(include_str!("../../go/addons/go.sum").into()),
        programs: vec![
            Program { binary: "coredns", package: "github.com/coredns/coredns", built_as: "coredns" },
            Program { binary: "helm", package: "helm.sh/helm/v3/cmd/helm", built_as: "helm" },
        ],
        linker_flags: "-s -w".into(),
        folder: String::new(),
        usually: "5 min the first time",
    }
}

/// kwok, which plays nodes and pods.
pub fn kwok() -> Module {
    Module {
        name: "kwok".into(),
        go_mod: include_str!("../../go/kwok/go.mod").into(),
        go_sum: Some(include_str!("../../go/kwok/go.sum").into()),
        programs: vec![Program { binary: "kwok", package: "sigs.k8s.io/kwok/cmd/kwok", built_as: "kwok" }],
        linker_flags: "-s -w".into(),
        folder: String::new(),
        usually: "2.5 min the first time",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn key_changes_with_everything_a_binary_is_made_of() {
        let base = etcd().key("go1.26.8\n");
        assert_eq!(base, etcd().key("go1.26.8"));
        assert_ne!(base, etcd().key("go1.26.9"));
        assert_ne!(base, Module { linker_flags: "-s".into(), ..etcd() }.key("go1.26.8"));
        assert_ne!(base, Module { go_mod: "module x".into(), ..etcd() }.key("go1.26.8"));
        assert_ne!(base, Module { go_sum: None, ..etcd() }.key("go1.26.8"));
        assert_ne!(base, Module { programs: vec![], ..etcd() }.key("go1.26.8"));
    }

    #[test]
    fn every_program_is_a_tool_of_its_module() {
        for module in [etcd(), addons(), kwok()] {
            for program in &module.programs {
                assert!(module.go_mod.contains(program.package), "{}", program.binary);
            }
        }
    }
}
