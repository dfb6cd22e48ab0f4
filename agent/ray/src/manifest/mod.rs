//! Manifest: a RayJob as a person wrote it, read and checked once, by the same code in the client and in the server.
//!
//! Invariant: what comes out is safe to store and to apply; the manifest itself is passed on unchanged. Everything
//! wrong is reported together, each with the path of the field and what to write instead.

mod gang;
mod image;
mod metadata;
mod preference;
mod stream;
mod wish;
mod yaml;

use std::collections::BTreeMap;

use serde_json::Value;
use squadron_core::{placement::NodeWish, preference::Texts, resources::Resources};

pub(crate) use self::yaml::read_yaml;
pub use self::{preference::stating, stream::documents};
use crate::{
    names, object, schema,
    types::{self, RayJobSpec},
    validate,
};

/// A RayJob manifest that passed every check that can be made without a cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedRayJob {
    /// `metadata.name`, or `metadata.generateName` without its trailing `-`.
    pub name: String,
    /// `None` where the manifest names none.
    pub namespace: Option<String>,
    pub labels: BTreeMap<String, String>,
    /// The manifest as it was written, with nothing added and nothing lost.
    pub manifest: Value,
    /// Pods that must run at the same time for the job to make progress.
    pub gang: Vec<GangMember>,
    /// Preferences that its annotations state; they can be read.
    pub preferences: Texts,
    /// The only cluster that it may run on, by its annotation; whether there is such a cluster is not known here.
    pub cluster: Option<String>,
}

/// Equal pods of a gang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GangMember {
    /// `head`, `submitter`, or the worker group's name.
    pub role: String,
    /// 0 only where the group may grow.
    pub count: u32,
    /// As many as Ray's autoscaler may ask for, where that is more.
    pub most: Option<u32>,
    /// Of one pod.
    pub requests: Resources,
    /// Which nodes will do for one pod.
    pub wish: NodeWish,
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

/// Longest manifest that is read, sent and stored, in bytes: several must fit into one desired state of a cluster.
pub const LONGEST_MANIFEST: usize = 256 * 1024;

/// Pods that the gang of one job may have.
const MOST_PODS: u32 = 5_000;

/// What to say of a manifest of `bytes` if that is too many.
pub fn too_long(bytes: u64) -> Option<String> {
    let kib = |bytes: u64| bytes.div_ceil(1024);
    let limit = LONGEST_MANIFEST as u64;
    (bytes > limit)
        .then(|| format!("is {} KiB long, and a manifest may have {} KiB at most", kib(bytes), kib(limit)))
}

/// What helps against a manifest that is too long.
pub const SHORTEN: &str = "move large files into a working_dir or an image";

/// Reads and checks `text`, one RayJob in YAML or JSON.
pub fn parse(text: &str) -> Result<ParsedRayJob, Vec<FieldError>> {
    let manifest =
        read_yaml(text).map_err(|error| vec![FieldError { path: "manifest".to_owned(), ..error }])?;
    let mut found = check_kind(&manifest);
    if found.is_empty() {
        found = check_all(&manifest);
    }
    if !found.is_empty() {
        return Err(found);
    }
    let labels = object::at(&manifest, &["metadata", "labels"]);
    let gang = gang::of(&manifest);
    let pods = gang.iter().fold(0_u32, |sum, member| sum.saturating_add(member.count));
    if pods > MOST_PODS {
        let problem = format!("ask for {pods} pods together; a job may ask for at most {MOST_PODS}");
        let path = "spec.rayClusterSpec.workerGroupSpecs".to_owned();
        return Err(vec![FieldError { path, problem }]);
    }
    Ok(ParsedRayJob {
        name: metadata::name(&manifest["metadata"]).to_owned(),
        namespace: Some(object::namespace(&manifest).to_owned()).filter(|name| !name.is_empty()),
        labels: serde_json::from_value(labels.clone()).unwrap_or_default(),
        gang,
        preferences: preference::texts(&manifest),
        cluster: preference::cluster(&manifest),
        manifest,
    })
}

/// Without the right kind nothing else is worth saying.
fn check_kind(manifest: &Value) -> Vec<FieldError> {
    let error = |path: &str, problem: String| vec![FieldError { path: path.to_owned(), problem }];
    if !manifest.is_object() {
        return error(
            "manifest",
            "must be a RayJob: a map with apiVersion, kind, metadata and spec".to_owned(),
        );
    }
    let kind = object::text(manifest, &["kind"]);
    if kind != "RayJob" {
        return error("kind", format!("is {:?}; only RayJob can be submitted", clipped(kind)));
    }
    let version = object::text(manifest, &["apiVersion"]);
    if version != names::API_VERSION {
        return error("apiVersion", format!("is {:?}; write {}", clipped(version), names::API_VERSION));
    }
    Vec::new()
}

/// Schema first; the rules read typed fields, so they run only on what the schema admits.
fn check_all(manifest: &Value) -> Vec<FieldError> {
    let mut found = schema::check::check(manifest, schema::ray_job(), "");
    found.extend(metadata::check(object::at(manifest, &["metadata"])));
    found.extend(preference::check(manifest));
    if !found.is_empty() {
        return found;
    }
    match types::part::<RayJobSpec>(manifest, "spec") {
        Err(problem) => found.push(FieldError { path: "spec".to_owned(), problem }),
        Ok(spec) => {
            found.extend(validate::job_spec(&spec, manifest));
            found.extend(missing_entrypoint(&spec));
            found.extend(image::missing(manifest));
        }
    }
    found
}

/// A submitter with a command of its own may know the entrypoint itself; so may the user of InteractiveMode.
fn missing_entrypoint(spec: &RayJobSpec) -> Option<FieldError> {
    let template = spec.submitter_pod_template.as_ref().unwrap_or(&Value::Null);
    let submitter = object::list(template, &["spec", "containers"]).first().unwrap_or(&Value::Null);
    let own = ["command", "args"].iter().any(|field| !object::list(submitter, &[field]).is_empty());
    let interactive = spec.submission_mode.as_deref() == Some("InteractiveMode");
    let given = !spec.entrypoint.as_deref().unwrap_or_default().trim().is_empty();
    let problem = "is missing; write the command that starts the driver, for example python train.py";
    (!own && !interactive && !given)
        .then(|| FieldError { path: "spec.entrypoint".to_owned(), problem: problem.to_owned() })
}

fn clipped(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests;
