//! What API servers logged: when a job's RayJob came to be, and how many writes there were.
//!
//! Invariant: only finished requests count, and a write that was refused counts like one that was not.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;
use squadron_e2e::clock::seconds;

/// Where a log ended, in bytes, so that a run counts only what came after.
pub fn end(log: &Path) -> u64 {
    fs::metadata(log).map_or(0, |found| found.len())
}

/// Writes of one run.
#[derive(Default, Debug)]
pub struct Writes {
    /// When the manager was asked to create a RayJob, in seconds since 1970, by its name.
    pub received: BTreeMap<String, f64>,
    /// When a worker had created it.
    pub created: BTreeMap<String, f64>,
    /// By `verb resource`, for example `create rayjobs`.
    pub by_kind: BTreeMap<String, u64>,
}

impl Writes {
    /// Adds what `log` of a worker or of the manager says from byte `from` on about the namespace.
    pub fn read(&mut self, log: &Path, from: u64, namespace: &str, is_worker: bool) -> Result<()> {
        let text = fs::read(log).with_context(|| format!("reading {}", log.display()))?;
        let since = text.get(usize::try_from(from)?..).unwrap_or_default();
        for line in since.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // The last line may be half written.
            if let Ok(entry) = serde_json::from_slice::<Value>(line) {
                self.add(&entry, namespace, is_worker);
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: &Value, namespace: &str, is_worker: bool) {
        let object = &entry["objectRef"];
        if entry["stage"] != "ResponseComplete" || object["namespace"] != namespace {
            return;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (verb, resource) = (text(&entry["verb"]), text(&object["resource"]));
        let sub = object["subresource"].as_str().map_or(String::new(), |sub| format!("/{sub}"));
        *self.by_kind.entry(format!("{verb} {resource}{sub}")).or_default() += 1;
        let is_new = verb == "create" && resource == "rayjobs" && entry["responseStatus"]["code"] == 201;
        let (when, seen) = if is_worker {
            ("stageTimestamp", &mut self.created)
        } else {
            ("requestReceivedTimestamp", &mut self.received)
        };
        if let Some(at) = seconds(&text(&entry[when])).filter(|_| is_new) {
            seen.insert(text(&object["name"]), at);
        }
    }

    /// All writes but those of Events.
    pub fn without_events(&self) -> u64 {
        self.by_kind.iter().filter(|(kind, _)| !kind.ends_with(" events")).map(|(_, count)| count).sum()
    }

    pub fn all(&self) -> u64 {
        self.by_kind.values().sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn events_other_namespaces_and_unfinished_requests_are_told_apart() {
        let entry = |verb: &str, resource: &str, namespace: &str, code: u32| {
            json!({"stage": "ResponseComplete", "verb": verb, "stageTimestamp": "1970-01-01T00:00:07Z",
                   "objectRef": {"resource": resource, "namespace": namespace, "name": "a"},
                   "responseStatus": {"code": code}})
        };
        let mut writes = Writes::default();
        for one in [
            entry("create", "rayjobs", "default", 201),
            entry("create", "rayjobs", "default", 409),
            entry("create", "events", "default", 201),
            entry("update", "leases", "squadron", 200),
            json!({"stage": "ResponseStarted", "verb": "patch", "objectRef": {"namespace": "default"}}),
        ] {
            writes.add(&one, "default", true);
        }
        assert_eq!((writes.without_events(), writes.all()), (2, 3));
        assert_eq!(writes.created, BTreeMap::from([("a".to_owned(), 7.0)]));
    }
}
