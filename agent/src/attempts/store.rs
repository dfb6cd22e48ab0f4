//! Store: the desired state and the memory of attempts, on disk beside the spool.
//!
//! Both belong to one cluster id. A volume that outlived its cluster's entry in the control plane meets another id; what
//! it remembers of the old one is then dropped, because generations of two ids have nothing to do with each other.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Serialize, de::DeserializeOwned};
use squadron_core::id::{AttemptId, ClusterId};

use crate::{
    plan::{Desired, Memory, Phase},
    spool::{DiskError, remove, replace},
};

/// Both files, with what they hold.
pub struct Store {
    desired_file: PathBuf,
    memory_file: PathBuf,
    desired: Option<Desired>,
    pub memory: Memory,
}

impl Store {
    /// A file that cannot be read ends the start: acting without it could create an attempt twice.
    pub fn load(folder: &Path, cluster: ClusterId) -> anyhow::Result<Store> {
        let (desired_file, memory_file) = (folder.join("desired.json"), folder.join("attempts.json"));
        belong_to(cluster, &folder.join("cluster.json"), &[&desired_file, &memory_file])?;
        let desired = read(&desired_file)?;
        let memory = read(&memory_file)?.unwrap_or_default();
        Ok(Store { desired_file, memory_file, desired, memory })
    }

    pub fn desired(&self) -> Option<Desired> {
        self.desired.clone()
    }

    /// Stores a desired state, and remembers its new attempts: whatever becomes of them, their end will be told.
    pub fn keep_desired(&mut self, desired: Option<&Desired>) -> Result<(), DiskError> {
        let Some(desired) = desired.filter(|desired| self.desired.as_ref() != Some(*desired)) else {
            return Ok(());
        };
        if self.memory.admit(desired) {
            write(&self.memory_file, &self.memory)?;
        }
        write(&self.desired_file, desired)?;
        self.desired = Some(desired.clone());
        Ok(())
    }

    /// Remembers what became of attempts, in one write.
    pub fn remember(&mut self, phases: &[(AttemptId, Option<Phase>)]) -> Result<(), DiskError> {
        if phases.is_empty() {
            return Ok(());
        }
        for (attempt, phase) in phases {
            self.memory.set(*attempt, *phase);
        }
        write(&self.memory_file, &self.memory)
    }
}

/// Removes `files` if they were written for another cluster id than `cluster`. Files without an owner were written
/// before it was noted, and are this cluster's.
fn belong_to(cluster: ClusterId, note: &Path, files: &[&PathBuf]) -> anyhow::Result<()> {
    let owner: Option<ClusterId> = read(note)?;
    if owner == Some(cluster) {
        return Ok(());
    }
    if let Some(owner) = owner {
        tracing::warn!(%owner, %cluster, "this agent serves another cluster id now; what it held for the old one is dropped");
        for file in files {
            remove(file)?;
        }
    }
    match write(note, &cluster) {
        // Nothing was dropped, so the next start finds the same.
        Err(error) if owner.is_none() => tracing::warn!(%error, "whose these files are is not noted"),
        noted => noted?,
    }
    Ok(())
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => {
            let read = serde_json::from_slice(&bytes);
            read.map(Some).with_context(|| format!("{} is damaged; remove it to start anew", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), DiskError> {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    replace(path, &bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn cluster(number: u128) -> ClusterId {
        format!("0196f0a0-0000-7000-8000-{number:012}").parse().unwrap()
    }

    #[test]
    fn what_was_held_for_another_cluster_id_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::load(folder.path(), cluster(1)).unwrap();
        store.keep_desired(Some(&Desired { generation: 57, attempts: Vec::new() })).unwrap();
        drop(store);
        let mut added_again = Store::load(folder.path(), cluster(2)).unwrap();
        assert!(
            added_again.desired().is_none(),
            "generation 57 of the old id would outrank the new one's first"
        );
        added_again.keep_desired(Some(&Desired { generation: 1, attempts: Vec::new() })).unwrap();
        assert_eq!(Store::load(folder.path(), cluster(2)).unwrap().desired().unwrap().generation, 1);
    }

    #[test]
    fn files_from_before_the_note_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("desired.json"), r#"{"generation": 9, "attempts": []}"#).unwrap();
        assert_eq!(Store::load(folder.path(), cluster(1)).unwrap().desired().unwrap().generation, 9);
    }

    #[test]
    fn both_survive_a_restart_and_damage_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let attempt = AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 };
        let mut store = Store::load(folder.path(), cluster(1)).unwrap();
        store.keep_desired(Some(&Desired { generation: 7, attempts: Vec::new() })).unwrap();
        store.remember(&[(attempt, Some(Phase::Created))]).unwrap();
        let again = Store::load(folder.path(), cluster(1)).unwrap();
        assert_eq!(again.desired().unwrap().generation, 7);
        assert_eq!(again.memory.get(attempt), Some(Phase::Created));
        std::fs::write(folder.path().join("attempts.json"), "{").unwrap();
        assert!(Store::load(folder.path(), cluster(1)).is_err());
    }
}
