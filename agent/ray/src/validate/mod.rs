//! Validate: the rules beyond the schema that a RayCluster or RayJob must keep.
//!
//! The same rules run when a manifest is submitted and in every pass of a reconciler. Invariant: an object without
//! findings can be turned into pods; a finding names its field and says what to write instead.

mod cluster;
mod deletion;
mod job;
mod names;

pub(crate) use cluster::{at_least, cluster_name, cluster_spec};
pub(crate) use deletion::strength;
pub(crate) use job::{entrypoint_resources, job_name, job_spec, runtime_env};

use crate::manifest::FieldError;

/// Whether `key` and `value` make a Kubernetes label.
pub(crate) fn is_label(key: &str, value: &str) -> bool {
    names::is_label_key(key) && names::is_label_value(value)
}

/// Collects findings below a path.
struct Findings<'a> {
    path: &'a str,
    found: Vec<FieldError>,
}

impl<'a> Findings<'a> {
    fn below(path: &'a str) -> Findings<'a> {
        Findings { path, found: Vec::new() }
    }

    fn add(&mut self, field: &str, problem: impl Into<String>) {
        let dot = if field.is_empty() || field.starts_with('[') { "" } else { "." };
        self.found.push(FieldError { path: format!("{}{dot}{field}", self.path), problem: problem.into() });
    }

    fn add_if(&mut self, wrong: bool, field: &str, problem: &str) {
        if wrong {
            self.add(field, problem);
        }
    }
}

/// The first finding as one line, as it goes into a status or an Event.
pub(crate) fn first(found: &[FieldError]) -> Option<String> {
    found.first().map(ToString::to_string)
}
