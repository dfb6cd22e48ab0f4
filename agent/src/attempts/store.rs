//! Store: the desired state and the memory of attempts, on disk beside the spool.
//!
//! Invariant: what changed is durable before it is acted on, and costs what changed, not what is held. Everything belongs to one
//! cluster id. A volume that outlived its cluster's entry in the control plane meets another id; what it remembers of the old one
//! is then dropped, because generations of two ids have nothing to do with each other.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use squadron_core::id::{AttemptId, ClusterId};

use super::journal::Journal;
use crate::{
    plan::{Desired, DesiredAttempt, Memory, Phase},
    spool::{DiskError, remove, replace},
};

/// One change, as it is read.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Line {
    desired: Option<Change<DesiredAttempt>>,
    phases: Vec<(AttemptId, Option<Phase>)>,
    /// Those of them that are fenced, where versions before that phase read that they were removed.
    fenced: Vec<AttemptId>,
}

/// One change, as it is written. Manifests are not copied for it.
#[derive(Serialize)]
struct NewLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    desired: Option<Change<Written<'a>>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    phases: &'a [(AttemptId, Option<Phase>)],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fenced: Vec<AttemptId>,
}

impl<'a> NewLine<'a> {
    fn of(desired: Option<Change<Written<'a>>>, phases: &'a [(AttemptId, Option<Phase>)]) -> NewLine<'a> {
        let fenced = phases.iter().filter(|(_, phase)| *phase == Some(Phase::Fenced));
        NewLine { desired, phases, fenced: fenced.map(|(attempt, _)| *attempt).collect() }
    }
}

/// A change of the desired state. A manifest that is empty did not change.
#[derive(Serialize, Deserialize)]
struct Change<A> {
    generation: u64,
    set: Vec<A>,
    removed: Vec<AttemptId>,
}

/// An attempt as it is written.
#[derive(Serialize)]
#[serde(untagged)]
enum Written<'a> {
    Whole(&'a DesiredAttempt),
    WithoutManifest(DesiredAttempt),
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
        let (mut desired, mut memory) = (None, Memory::default());
        let journal = Journal::open::<Line>(&file, |line| take(&mut desired, &mut memory, line))?;
        let mut store = Store { journal, desired, memory };
        store.take_over(&older)?;
        store.shorten();
        Ok(store)
    }

    /// What versions before the journal left. An older version that comes back must find nothing rather than old news. Of files
    /// that were taken over before, one may be left; the other's part is in the journal then.
    fn take_over(&mut self, [desired, memory]: &[PathBuf; 2]) -> anyhow::Result<()> {
        let held: Option<Older> = read(desired)?;
        let remembered: Option<Memory> = read(memory)?;
        if held.is_none() && remembered.is_none() {
            return Ok(());
        }
        if let Some(older) = held {
            let attempts = older.attempts.into_iter().map(|attempt| (attempt.id, attempt));
            self.desired = Some(Desired::of(older.generation, attempts));
        }
        if let Some(remembered) = remembered {
            self.memory = remembered;
        }
        self.rewrite()?;
        remove(memory)?;
        Ok(remove(desired)?)
    }

    /// Restarts must not put off what the journal needs; a disk that refuses it is met again by the next change.
    fn shorten(&mut self) {
        let phases = self.phases();
        self.journal.measure(&everything(self.desired.as_ref(), &phases));
        if self.journal.is_long()
            && let Err(error) = self.rewrite()
        {
            tracing::warn!(%error, "the journal of attempts stays long");
        }
    }

    pub fn desired(&self) -> Option<Desired> {
        self.desired.clone()
    }

    /// Whether it is another than is stored.
    pub fn is_news(&self, desired: &Desired) -> bool {
        self.desired.as_ref() != Some(desired)
    }

    /// Stores a desired state, and remembers its new attempts: whatever becomes of them, their end will be told.
    pub fn keep_desired(&mut self, desired: &Desired) -> Result<(), DiskError> {
        let new = desired.attempts.keys().filter(|id| self.memory.get(**id).is_none());
        let phases: Vec<_> = new.map(|id| (*id, Some(Phase::Wanted))).collect();
        self.rewrite_if_long()?;
        let change = change(self.desired.as_ref(), desired);
        self.journal.append(&NewLine::of(Some(change), &phases))?;
        self.desired = Some(desired.clone());
        self.set(&phases);
        Ok(())
    }

    /// Remembers what became of attempts, in one write.
    pub fn remember(&mut self, phases: &[(AttemptId, Option<Phase>)]) -> Result<(), DiskError> {
        if phases.is_empty() {
            return Ok(());
        }
        self.rewrite_if_long()?;
        self.journal.append(&NewLine::of(None, phases))?;
        self.set(phases);
        Ok(())
    }

    fn set(&mut self, phases: &[(AttemptId, Option<Phase>)]) {
        set(&mut self.memory, phases);
    }

    fn rewrite_if_long(&mut self) -> Result<(), DiskError> {
        if self.journal.is_long() { self.rewrite() } else { Ok(()) }
    }

    /// One line says what all lines say.
    fn rewrite(&mut self) -> Result<(), DiskError> {
        let phases = self.phases();
        self.journal.replace(&everything(self.desired.as_ref(), &phases))
    }

    fn phases(&self) -> Vec<(AttemptId, Option<Phase>)> {
        self.memory.attempts().map(|(attempt, phase)| (attempt, Some(phase))).collect()
    }
}

fn everything<'a>(desired: Option<&'a Desired>, phases: &'a [(AttemptId, Option<Phase>)]) -> NewLine<'a> {
    NewLine::of(desired.map(|desired| change(None, desired)), phases)
}

fn set(memory: &mut Memory, phases: &[(AttemptId, Option<Phase>)]) {
    for (attempt, phase) in phases {
        memory.set(*attempt, *phase);
    }
}

/// Takes one line that was read.
fn take(desired: &mut Option<Desired>, memory: &mut Memory, line: Line) {
    set(memory, &line.phases);
    for attempt in line.fenced {
        memory.set(attempt, Some(Phase::Fenced));
    }
    let Some(change) = line.desired else { return };
    let desired = desired.get_or_insert_with(|| Desired::of(0, []));
    desired.generation = change.generation;
    for attempt in change.set {
        let whole = match desired.attempts.get(&attempt.id) {
            Some(held) if attempt.manifest.is_empty() => {
                DesiredAttempt { manifest: held.manifest.clone(), ..attempt }
            }
            _ => attempt,
        };
        desired.attempts.insert(whole.id, whole.into());
    }
    for gone in &change.removed {
        desired.attempts.remove(gone);
    }
}

/// What differs.
fn change<'a>(before: Option<&Desired>, after: &'a Desired) -> Change<Written<'a>> {
    let held = |id: &AttemptId| before.and_then(|before| before.attempts.get(id));
    let differs = after.attempts.iter().filter(|(id, attempt)| held(id) != Some(*attempt));
    let set = differs.map(|(id, attempt)| {
        let same = held(id).is_some_and(|held| held.manifest == attempt.manifest);
        if same {
            let whole = attempt.as_ref().clone();
            Written::WithoutManifest(DesiredAttempt { manifest: String::new(), ..whole })
        } else {
            Written::Whole(attempt.as_ref())
        }
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
