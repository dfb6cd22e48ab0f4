//! Extras: what a submission has and a RayJob has no field for. They travel to the agent in an annotation.
//!
//! Invariant: an annotation that cannot be read counts as none; the control plane never writes such a one, and the
//! agent delivers only packages that the control plane knows for the very attempt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Submission, package_names};
use crate::object;

/// Annotation of a RayJob: [`Extras`] as JSON.
pub const EXTRAS_ANNOTATION: &str = "squadron.dev/ray-submission";

/// Parts of a submission beside the RayJob's fields.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint_memory: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entrypoint_label_selector: Option<BTreeMap<String, String>>,
    /// Packages that must be in the Ray cluster before the driver is submitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
}

impl Extras {
    pub(super) fn of(submission: &Submission) -> Extras {
        Extras {
            entrypoint_memory: submission.memory,
            entrypoint_label_selector: submission.label_selector.clone(),
            packages: submission.runtime_env.as_ref().map(package_names).unwrap_or_default(),
        }
    }

    /// Of a RayJob in its cluster.
    pub(crate) fn read(job: &Value) -> Extras {
        serde_json::from_str(object::annotation(job, EXTRAS_ANNOTATION)).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Extras::default()
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
