//! The register of clusters: which names exist, their numbers, and who provides them.
//!
//! Owns `clusters.json` in the home folder. Invariant: no two local clusters have the same number, since addresses
//! and device names are made from it. Every change happens under a lock and replaces the file in one step.
//! Fails when the file is not what the testbed wrote; moving it away and `up` again repairs it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files;
use crate::home::Home;
use crate::name::Name;

/// The largest number; it is an octet of every address of the cluster.
const LAST_NUMBER: u8 = 99;

/// Who runs a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
pub enum Entry {
    /// Processes on this machine.
    Local {
        /// Distinguishes addresses and devices, 1 to 99.
        number: u8,
        #[serde(flatten)]
        settings: Settings,
    },
    /// A context of a kubeconfig that the user already had.
    Context { context: String, kubeconfig: Option<PathBuf> },
}

/// What a person chose for a local cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Version of Kubernetes, such as `v1.34.4`.
    pub kubernetes_version: String,
    /// CPUs that the node claims to have.
    pub node_cpus: u16,
    /// Whether the API server writes an audit log.
    #[serde(default)]
    pub audit: bool,
}

/// All known clusters.
#[derive(Default, Debug, Serialize, Deserialize)]
pub struct Register {
    clusters: BTreeMap<String, Entry>,
}

impl Register {
    /// Reads the register as it is now.
    pub fn read(home: &Home) -> Result<Self> {
        let path = path(home);
        match files::text(&path)? {
            None => Ok(Self::default()),
            Some(text) => serde_json::from_str(&text).map_err(|source| Error::Json { path, source }),
        }
    }

    /// Changes the register under its lock.
    pub fn change<T>(home: &Home, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let _held = home.lock("register")?;
        let mut register = Self::read(home)?;
        let outcome = change(&mut register)?;
        let text = serde_json::to_string_pretty(&register)
            .map_err(|source| Error::Json { path: path(home), source })?;
        files::replace(&path(home), text)?;
        Ok(outcome)
    }

    /// The entry of a name that must exist.
    pub fn get(&self, name: &Name) -> Result<&Entry> {
        self.clusters.get(name.as_str()).ok_or_else(|| {
            Error::Refused(format!(
                "there is no cluster {name}; `squadron-testbed up --clusters {name}` makes one"
            ))
        })
    }

    /// Names in order.
    pub fn names(&self) -> Result<Vec<Name>> {
        self.clusters.keys().map(|name| name.parse()).collect()
    }

    /// Gives the local cluster of this name its number, keeping the one it has.
    pub fn allot(&mut self, name: &Name, settings: Settings) -> Result<u8> {
        let number = match self.clusters.get(name.as_str()) {
            Some(Entry::Local { number, .. }) => *number,
            Some(Entry::Context { context, .. }) => {
                return Err(Error::Refused(format!(
                    "{name} already stands for the context {context}; \
                     `squadron-testbed down {name}` frees the name"
                )));
            }
            None => free_number(&self.numbers()).ok_or_else(|| {
                Error::Refused(format!(
                    "all {LAST_NUMBER} numbers are taken; `squadron-testbed down NAME --purge` frees one"
                ))
            })?,
        };
        self.clusters.insert(name.to_string(), Entry::Local { number, settings });
        Ok(number)
    }

    /// An error when a local cluster has the name that a context is to get.
    pub fn must_not_be_local(&self, name: &Name) -> Result<()> {
        match self.clusters.get(name.as_str()) {
            Some(Entry::Local { .. }) => Err(Error::Refused(format!(
                "{name} is a local cluster; give the context another name with `--contexts OTHER=CONTEXT`"
            ))),
            _ => Ok(()),
        }
    }

    /// Records a context under a name that no local cluster has.
    pub fn record(&mut self, name: &Name, context: String, kubeconfig: Option<PathBuf>) -> Result<()> {
        self.must_not_be_local(name)?;
        self.clusters.insert(name.to_string(), Entry::Context { context, kubeconfig });
        Ok(())
    }

    /// Forgets a name. Its number becomes free.
    pub fn forget(&mut self, name: &Name) {
        self.clusters.remove(name.as_str());
    }

    fn numbers(&self) -> BTreeSet<u8> {
        let number = |entry: &Entry| match entry {
            Entry::Local { number, .. } => Some(*number),
            Entry::Context { .. } => None,
        };
        self.clusters.values().filter_map(number).collect()
    }
}

/// The lowest number that nobody has.
fn free_number(taken: &BTreeSet<u8>) -> Option<u8> {
    (1..=LAST_NUMBER).find(|number| !taken.contains(number))
}

fn path(home: &Home) -> PathBuf {
    home.path().join("clusters.json")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn settings() -> Settings {
        Settings { kubernetes_version: "v1.34.4".into(), node_cpus: 8, audit: false }
    }

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    #[test]
    fn lowest_free_number_is_taken() {
        assert_eq!(free_number(&BTreeSet::new()), Some(1));
        assert_eq!(free_number(&BTreeSet::from([1, 2, 4])), Some(3));
        assert_eq!(free_number(&(1..=LAST_NUMBER).collect()), None);
    }

    #[test]
    fn name_keeps_its_number_and_a_forgotten_number_comes_back() {
        let mut register = Register::default();
        assert_eq!(register.allot(&name("east"), settings()).unwrap(), 1);
        assert_eq!(register.allot(&name("west"), settings()).unwrap(), 2);
        assert_eq!(register.allot(&name("east"), settings()).unwrap(), 1);
        register.forget(&name("east"));
        assert_eq!(register.allot(&name("north"), settings()).unwrap(), 1);
    }

    #[test]
    fn a_name_has_one_provider() {
        let mut register = Register::default();
        register.record(&name("prod"), "kind-prod".into(), None).unwrap();
        assert!(register.allot(&name("prod"), settings()).is_err());
        register.allot(&name("east"), settings()).unwrap();
        assert!(register.record(&name("east"), "x".into(), None).is_err());
    }

    #[test]
    fn changes_by_many_at_once_get_distinct_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        std::thread::scope(|scope| {
            for i in 0..12 {
                let home = &home;
                scope.spawn(move || {
                    Register::change(home, |register| register.allot(&name(&format!("c{i}")), settings()))
                        .unwrap();
                });
            }
        });
        let register = Register::read(&home).unwrap();
        assert_eq!(register.numbers(), (1..=12).collect());
    }

    #[test]
    fn damaged_register_is_an_error_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("clusters.json"), "{\"clusters\": [").unwrap();
        let error = Register::read(&Home::at(folder.path())).unwrap_err().to_string();
        assert!(error.contains("move it away"), "{error}");
    }
}
