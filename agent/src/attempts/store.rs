//! Store: the desired state and the memory of attempts, on disk beside the spool.
//!
//! Invariant: what changed is durable before it is acted on, and costs what changed, not what is held. Everything belongs to one
//! cluster id. A volume that outlived its cluster's entry in the control plane meets another id; what it remembers of the old one
//! is then dropped, because generations of two ids have nothing to do with each other.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use squadron_core::{
    desired::Body as _,
    id::{AttemptId, ClusterId},
};

use super::journal::Journal;
use crate::{
    plan::{Desired, DesiredAttempt, Memory, Phase},
    spool::{DiskError, remove, replace},
};

/// One change, as it lies on the disk.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    desired: Option<Change>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<(AttemptId, Option<Phase>)>,
}

/// A change of the desired state. A manifest that is empty did not change.
#[derive(Serialize, Deserialize)]
struct Change {
    generation: u64,
    set: Vec<DesiredAttempt>,
    removed: Vec<AttemptId>,
}

/// The journal, with what it says.
pub struct Store {
    journal: Journal,
    desired: Option<Desired>,
    pub memory: Memory,
}

impl Store {
    /// A file that cannot be read ends the start: acting without it could create an attempt twice.
    pub fn load(folder: &Path, cluster: ClusterId) -> anyhow::Result<Store> {
        let file = folder.join("held.jsonl");
        let older = [folder.join("desired.json"), folder.join("attempts.json")];
        belong_to(cluster, &folder.join("cluster.json"), &[&file, &older[0], &older[1]])?;
        let (journal, lines) = Journal::open::<Line>(&file)?;
        let mut store = Store { journal, desired: None, memory: Memory::default() };
        for line in lines {
            store.take(line);
        }
        store.take_over(&older)?;
        Ok(store)
    }

    /// What versions before the journal left. An older version that comes back must find nothing rather than old news.
    fn take_over(&mut self, [desired, memory]: &[PathBuf; 2]) -> anyhow::Result<()> {
        let held: Option<Older> = read(desired)?;
        let remembered: Option<Memory> = read(memory)?;
        if held.is_none() && remembered.is_none() {
            return Ok(());
        }
        self.desired = held.map(|older| {
            Desired::of(older.generation, older.attempts.into_iter().map(|attempt| (attempt.id, attempt)))
        });
        self.memory = remembered.unwrap_or_default();
        self.journal.replace(&self.everything())?;
        remove(desired)?;
        Ok(remove(memory)?)
    }

    pub fn desired(&self) -> Option<Desired> {
        self.desired.clone()
    }

    /// Stores a desired state, and remembers its new attempts: whatever becomes of them, their end will be told.
    pub fn keep_desired(&mut self, desired: Option<&Desired>) -> Result<(), DiskError> {
        let Some(desired) = desired.filter(|desired| self.desired.as_ref() != Some(*desired)) else {
            return Ok(());
        };
        let new = desired.attempts.keys().filter(|id| self.memory.get(**id).is_none());
        let phases: Vec<_> = new.map(|id| (*id, Some(Phase::Wanted))).collect();
        let change = change(self.desired.as_ref(), desired);
        self.append(&Line { desired: Some(change), phases: phases.clone() })?;
        self.desired = Some(desired.clone());
        self.set(&phases);
        Ok(())
    }

    /// Remembers what became of attempts, in one write.
    pub fn remember(&mut self, phases: &[(AttemptId, Option<Phase>)]) -> Result<(), DiskError> {
        if phases.is_empty() {
            return Ok(());
        }
        self.append(&Line { desired: None, phases: phases.to_vec() })?;
        self.set(phases);
        Ok(())
    }

    fn set(&mut self, phases: &[(AttemptId, Option<Phase>)]) {
        for (attempt, phase) in phases {
            self.memory.set(*attempt, *phase);
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), DiskError> {
        if self.journal.is_long() {
            self.journal.replace(&self.everything())?;
        }
        self.journal.append(line)
    }

    /// A line that says what all lines say.
    fn everything(&self) -> Line {
        Line {
            desired: self.desired.as_ref().map(|desired| change(None, desired)),
            phases: self.memory.attempts().map(|(attempt, phase)| (attempt, Some(phase))).collect(),
        }
    }

    fn take(&mut self, line: Line) {
        self.set(&line.phases);
        let Some(change) = line.desired else { return };
        let desired = self.desired.get_or_insert_with(|| Desired::of(0, []));
        desired.generation = change.generation;
        for attempt in change.set {
            let held = desired.attempts.get(&attempt.id).map(AsRef::as_ref);
            // Empty for both only if it was empty when it was written.
            let whole = attempt.clone().complete(held).unwrap_or(attempt);
            desired.attempts.insert(whole.id, whole.into());
        }
        for gone in &change.removed {
            desired.attempts.remove(gone);
        }
    }
}

/// What differs.
fn change(before: Option<&Desired>, after: &Desired) -> Change {
    let held = |id: &AttemptId| before.and_then(|before| before.attempts.get(id));
    let differs = after.attempts.iter().filter(|(id, attempt)| held(id) != Some(*attempt));
    let set = differs.map(|(id, attempt)| {
        let same = held(id).is_some_and(|held| held.manifest == attempt.manifest);
        let manifest = if same { String::new() } else { attempt.manifest.clone() };
        DesiredAttempt { manifest, ..attempt.as_ref().clone() }
    });
    let gone = before.into_iter().flat_map(|before| before.attempts.keys());
    let removed = gone.filter(|id| !after.attempts.contains_key(id)).copied().collect();
    Change { generation: after.generation, set: set.collect(), removed }
}

/// A desired state as versions before the journal wrote it.
#[derive(Deserialize)]
struct Older {
    generation: u64,
    attempts: Vec<DesiredAttempt>,
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
#[path = "store_tests.rs"]
mod tests;
