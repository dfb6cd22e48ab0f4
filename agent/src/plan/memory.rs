//! Memory: what this agent already did with each attempt.
//!
//! Owns the answer to "was it created once?". Kept on disk; losing it means that an attempt whose RayJob somebody
//! deleted meanwhile is created once more, since nothing here tells it from a new one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use squadron_core::{id::AttemptId, time::Timestamp};

/// How far an attempt has come in this cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Desired; nothing was done yet.
    Wanted,
    /// Its RayJob was created.
    Created,
    /// Its RayJob exists and is no longer desired since this time.
    Released(Timestamp),
    /// It is being stopped because the lease ended.
    Fencing,
    /// Refused for good; told.
    Refused,
    /// Created once, gone although desired; told.
    Removed,
    /// The same, because the lease ended. Versions that do not know it read `removed`; the store notes which are meant.
    #[serde(rename(serialize = "removed"), skip_deserializing)]
    Fenced,
}

/// Phases by attempt.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory {
    #[serde(with = "as_list")]
    phases: BTreeMap<AttemptId, Phase>,
}

impl Memory {
    pub fn get(&self, attempt: AttemptId) -> Option<Phase> {
        self.phases.get(&attempt).copied()
    }

    /// Remembers a phase, or forgets the attempt.
    pub fn set(&mut self, attempt: AttemptId, phase: Option<Phase>) {
        match phase {
            Some(phase) => self.phases.insert(attempt, phase),
            None => self.phases.remove(&attempt),
        };
    }

    pub fn attempts(&self) -> impl Iterator<Item = (AttemptId, Phase)> {
        self.phases.iter().map(|(attempt, phase)| (*attempt, *phase))
    }
}

/// JSON keys must be texts, so the map travels as a list of pairs.
mod as_list {
    use super::{AttemptId, BTreeMap, Phase};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(phases: &BTreeMap<AttemptId, Phase>, out: S) -> Result<S::Ok, S::Error> {
        phases.iter().collect::<Vec<_>>().serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<BTreeMap<AttemptId, Phase>, D::Error> {
        Ok(Vec::<(AttemptId, Phase)>::deserialize(input)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn survives_a_round_trip_through_json() {
        let attempt = AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 2 };
        let mut memory = Memory::default();
        memory.set(attempt, Some(Phase::Released(Timestamp(5))));
        let text = serde_json::to_string(&memory).unwrap();
        assert_eq!(serde_json::from_str::<Memory>(&text).unwrap(), memory);
    }
}
