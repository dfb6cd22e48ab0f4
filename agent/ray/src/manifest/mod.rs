//! Manifest: a RayJob as a person wrote it, read and checked once, by the same code in the client and in the server.
//!
//! Invariant: what comes out is safe to store and to apply; the manifest itself is passed on unchanged. Everything
//! wrong is reported together, each with the path of the field and what to write instead.

mod gang;
mod yaml;

use std::collections::BTreeMap;

use serde_json::Value;
use squadron_core::resources::Resources;

/// A RayJob manifest that passed every check that can be made without a cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedRayJob {
    pub name: String,
    /// `None` where the manifest names none.
    pub namespace: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// The manifest as it was written, with nothing added and nothing lost.
    pub manifest: Value,
    /// Pods that must run at the same time for the job to make progress.
    pub gang: Vec<GangMember>,
}

/// Equal pods of a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GangMember {
    /// `head`, `submitter`, or the worker group's name.
    pub role: String,
    pub count: u32,
    /// Of one pod.
    pub requests: Resources,
}

/// One thing that is wrong with a manifest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct FieldError {
    /// For example `spec.rayClusterSpec.workerGroupSpecs[0].replicas`; empty where the whole text is meant.
    pub path: String,
    /// A sentence: what is wrong, and what would be right.
    pub problem: String,
}

/// Longest manifest that is read, in bytes.
pub const LONGEST_MANIFEST: usize = 1 << 20;

/// Reads and checks `text`, one RayJob in YAML or JSON.
pub fn parse(text: &str) -> Result<ParsedRayJob, Vec<FieldError>> {
    let manifest = yaml::read(text).map_err(|error| vec![error])?;
    let metadata = crate::object::at(&manifest, &["metadata"]);
    let labels = crate::object::at(metadata, &["labels"]);
    Ok(ParsedRayJob {
        name: crate::object::name(&manifest).to_owned(),
        namespace: Some(crate::object::namespace(&manifest).to_owned()).filter(|name| !name.is_empty()),
        labels: serde_json::from_value(labels.clone()).unwrap_or_default(),
        gang: gang::of(&manifest),
        manifest,
    })
}
