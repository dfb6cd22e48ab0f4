//! Object: whose is the RayJob that has the name of an attempt? (R2, R3)
//!
//! The name is a pure function of job and attempt ([`crate::attempt::object_name`]), so creating twice makes one object,
//! and the API server says that it exists. Invariant: an object is taken for ours only if its labels name this job, this
//! attempt and this cluster, and its uid is the one that was reported, if one was. Anything else is never adopted,
//! changed or deleted. Repaired by a person, who removes or renames it.

use crate::{
    id::{AttemptId, ClusterId},
    sentence::clip,
};

/// What an existing object says of itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Marks {
    pub attempt: Option<AttemptId>,
    /// The cluster under whose id it was made.
    pub cluster: Option<ClusterId>,
    pub uid: String,
}

/// Whose it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// Created by us for this attempt; creating it again is done.
    Ours,
    /// Created by us for another attempt or another life of this name.
    Stale(String),
    /// Somebody else's.
    Foreign(String),
}

/// Compares an object that has the attempt's name with what is wanted. `known` is the uid reported for the attempt.
pub fn compare(wanted: AttemptId, cluster: ClusterId, known: Option<&str>, found: &Marks) -> Found {
    let Some(attempt) = found.attempt else {
        return Found::Foreign(
            "it carries no marks of Squadron; delete or rename it, then submit again".to_owned(),
        );
    };
    if found.cluster != Some(cluster) {
        return Found::Foreign("it was made under another cluster's id; delete or rename it".to_owned());
    }
    if attempt != wanted {
        return Found::Stale(format!("it belongs to attempt {attempt}, not to {wanted}"));
    }
    match known {
        Some(known) if known != found.uid => Found::Stale(format!(
            "it has uid {}, and the attempt's object had uid {}: somebody made it anew",
            clip(&found.uid, 63),
            clip(known, 63)
        )),
        _ => Found::Ours,
    }
}
