//! SidecarMode: the submitter is a container of the head pod (RJ-SUB).
//!
//! It lives and dies with the head, so a head that is gone ends the attempt; the RayCluster makes no second one.

use serde_json::{Value, json};
use squadron_core::time::Timestamp;

use super::{pass::Pass, script, submitter};
use crate::{
    cluster::PodView,
    names,
    object::{self, entry, items},
    pod::container_port,
};

/// Adds the submitter to the head of a RayCluster that is about to be created.
pub(super) fn add(pass: &Pass<'_>, cluster: &mut Value) {
    entry(&mut cluster["metadata"], "annotations").insert(names::NO_HEAD_RESTART.to_owned(), json!("true"));
    let Some(template) = cluster.pointer_mut("/spec/headGroupSpec/template") else { return };
    let ray = object::list(template, &["spec", "containers"]).first().unwrap_or(&Value::Null);
    let dashboard = format!("127.0.0.1:{}", container_port(ray, "dashboard", names::PORT_DASHBOARD));
    let mut container = submitter::default_container(template);
    let id = &pass.stored.job_id;
    submitter::furnish(pass, &mut container, script::of(pass, &dashboard, id, None), &dashboard, id);
    entry(template, "spec").insert("restartPolicy".to_owned(), json!("Never"));
    items(&mut template["spec"], "containers").push(container);
}

/// The head pod, if it exists and is not going.
pub(super) fn head<'a>(pass: &'a Pass<'_>) -> Option<&'a Value> {
    let pods = PodView::all(&pass.view.pods);
    pods.into_iter().find(|pod| pod.is_head() && !pod.deleting).map(|pod| pod.object)
}

/// When the submitter ended, and why if it failed.
pub(super) fn end(head: &Value) -> Option<(Timestamp, Option<String>)> {
    let states = object::list(head, &["status", "containerStatuses"]);
    let own = states.iter().find(|state| object::text(state, &["name"]) == names::SUBMITTER)?;
    let ended = own.pointer("/state/terminated")?;
    let at = object::time(ended, &["finishedAt"])?;
    let code = ended["exitCode"].as_i64().unwrap_or(0);
    let failure = (code != 0).then(|| {
        let reason = object::text(ended, &["reason"]);
        format!("Ray head pod container {} terminated with exit code {code}: {reason}", names::SUBMITTER)
    });
    Some((at, failure))
}
