//! What a submission wishes beside its pods: what happens when its cluster is lost, and where it would like to run.
//!
//! Nothing is judged here: the deciders refuse, and this says so with the field and the next step.

use squadron_api::error::{Code, FieldProblem};
use squadron_core::{
    job::marks,
    lease::{Refusal, Wish},
    preference::Fault,
};
use squadron_ray::manifest::ParsedRayJob;

use crate::http::error::Api;

/// What the job says about the loss of its cluster: in the request, else by annotations of its manifest.
pub fn wish(asked: Option<&str>, parsed: &ParsedRayJob) -> std::result::Result<Wish, Refusal> {
    let annotation = |key: &str| parsed.manifest["metadata"]["annotations"][key].as_str().unwrap_or_default();
    let asked = asked.unwrap_or_else(|| annotation(marks::ON_LOST));
    Ok(Wish {
        policy: Some(asked).filter(|word| !word.is_empty()).map(str::parse).transpose()?,
        resumes: annotation(marks::RESUMES) == "true",
        checkpoint: annotation(marks::CHECKPOINT).to_owned(),
    })
}

/// The refusal of preferences that cannot be read, field by field.
pub fn preferences_refused(faults: &[Fault]) -> Api {
    let problem = |fault: &Fault| FieldProblem {
        path: format!("preferences.{}", fault.field.word().replace('-', "_")),
        problem: fault.problem.clone(),
    };
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    Api::new(
        Code::BadRequest,
        format!("the preferences cannot be read: {}", told.join("; ")),
        "correct them; nothing was changed",
    )
    .fields(faults.iter().map(problem).collect())
}

/// The refusal of a policy for the loss of the cluster.
pub fn policy_refused(refusal: &Refusal) -> Api {
    Api::new(Code::BadRequest, refusal.to_string(), "change --on-lost or the annotation squadron.dev/on-lost")
}
