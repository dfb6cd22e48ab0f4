//! Submission: what Ray's Job Submission API asks for, as the RayJob that runs it.
//!
//! Owns the way from a submission (entrypoint, runtime environment, metadata, the driver's resources) and a queue's
//! template to a manifest. Invariant: the result is an ordinary RayJob and is checked like one that a person wrote;
//! whatever it cannot honour is refused with the path of the part that is wrong. The driver is submitted over HTTP by
//! the agent, so that packages can be in place before it starts.

mod answer;
mod driver;
mod extras;
mod metadata;
mod packages;
mod read;
mod shape;
mod template;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub use self::{
    answer::{JobStatus, LOG_END, Told, details, status},
    extras::{EXTRAS_ANNOTATION, Extras},
    metadata::{Choices, choices},
    packages::package_names,
    read::{TypeError, read},
    template::check_template,
};
use crate::{
    manifest::FieldError,
    names::{API_VERSION, LONGEST_JOB_NAME},
    object,
};

/// Seconds that the Ray cluster stays after the driver's end: its log is read until then.
const LINGER: i64 = 10;

/// A request of Ray's Job Submission API, with the types that Ray demands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Submission {
    pub entrypoint: String,
    /// As the client chose it.
    pub submission_id: Option<String>,
    pub runtime_env: Option<Map<String, Value>>,
    pub metadata: Option<BTreeMap<String, String>>,
    pub num_cpus: Option<f64>,
    pub num_gpus: Option<f64>,
    /// Bytes.
    pub memory: Option<i64>,
    pub resources: Option<Map<String, Value>>,
    pub label_selector: Option<BTreeMap<String, String>>,
}

/// The RayJob of `submission` under `id`, made from a queue's template or from the default one.
pub fn rayjob(submission: &Submission, id: &str, template: Option<&Value>) -> Result<Value, Vec<FieldError>> {
    let mut found = read::amounts(submission);
    let choices = match choices(submission) {
        Ok(choices) => choices,
        Err(errors) => {
            found.extend(errors);
            return Err(found);
        }
    };
    let mut job = template.cloned().unwrap_or_else(template::default_template);
    found.extend(shape::apply(&mut job, &choices));
    if !found.is_empty() {
        return Err(found);
    }
    if template.is_none() {
        driver::grow(&mut job, submission, &choices);
    }
    let unmet = driver::check(&job, submission);
    if !unmet.is_empty() {
        return Err(unmet);
    }
    head_of(&mut job, submission, id, &choices);
    drive(&mut job, submission, id);
    Ok(job)
}

/// Kind, name, namespace and the annotation for the agent.
fn head_of(job: &mut Value, submission: &Submission, id: &str, choices: &Choices) {
    job["apiVersion"] = API_VERSION.into();
    job["kind"] = "RayJob".into();
    let named = submission.metadata.as_ref().and_then(|metadata| metadata.get(metadata::JOB_NAME));
    let name = object_name(named.map_or(id, String::as_str));
    let metadata = object::entry(job, "metadata");
    metadata.remove("generateName");
    metadata.insert("name".to_owned(), name.into());
    if let Some(namespace) = &choices.namespace {
        metadata.insert("namespace".to_owned(), namespace.clone().into());
    }
    let extras = Extras::of(submission);
    if !extras.is_empty() {
        let metadata = &mut job["metadata"];
        object::entry(metadata, "annotations").insert(EXTRAS_ANNOTATION.to_owned(), extras.text().into());
    }
}

/// What the driver is and how it is submitted.
fn drive(job: &mut Value, submission: &Submission, id: &str) {
    let spec = object::entry(job, "spec");
    for taken in ["submitterPodTemplate", "submitterConfig", "entrypointResources", "runtimeEnvYAML"] {
        spec.remove(taken);
    }
    spec.insert("entrypoint".to_owned(), submission.entrypoint.clone().into());
    spec.insert("jobId".to_owned(), id.into());
    spec.insert("submissionMode".to_owned(), "HTTPMode".into());
    spec.entry("shutdownAfterJobFinishes").or_insert(true.into());
    if spec["shutdownAfterJobFinishes"] == true {
        spec.entry("ttlSecondsAfterFinished").or_insert(LINGER.into());
    }
    let texts = [
        ("runtimeEnvYAML", submission.runtime_env.as_ref().map(|env| json!(env).to_string().into())),
        ("metadata", submission.metadata.as_ref().map(|metadata| json!(metadata))),
        ("entrypointResources", submission.resources.as_ref().map(|map| json!(map).to_string().into())),
        ("entrypointNumCpus", submission.num_cpus.map(Value::from)),
        ("entrypointNumGpus", submission.num_gpus.map(Value::from)),
    ];
    for (field, value) in texts {
        match value {
            Some(value) => spec.insert(field.to_owned(), value),
            None => spec.remove(field),
        };
    }
}

/// `text` as the name of a RayJob: what is not legal becomes `-`.
fn object_name(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut name: String = text.chars().map(legal).collect();
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert_str(0, "ray-");
    }
    name.truncate(LONGEST_JOB_NAME);
    let trimmed = name.trim_end_matches('-').len();
    name.truncate(trimmed);
    name
}
