//! Driver: whether some pod of the job has what the driver asks for.
//!
//! Invariant: a driver is never placed for which Ray would wait in vain, as far as the manifest tells: of cores, GPUs and
//! memory. The default template's head grows with its driver; what a person or a template has sized stays, and is refused.

use serde_json::Value;

use super::{
    Submission,
    metadata::{Choices, Size},
    shape,
};
use crate::{manifest::FieldError, pod, types};

/// One amount that the driver asks for.
struct Ask {
    field: &'static str,
    /// As `ray start` names it.
    param: &'static str,
    amount: f64,
    /// Ends of the metadata's keys.
    key: &'static str,
}

fn asks(submission: &Submission) -> Vec<Ask> {
    let memory = submission.memory.map(|bytes| bytes as f64);
    let table = [
        ("entrypoint_num_cpus", "num-cpus", submission.num_cpus, "cpus"),
        ("entrypoint_num_gpus", "num-gpus", submission.num_gpus, "gpus"),
        ("entrypoint_memory", "memory", memory, "memory"),
    ];
    let ask = |(field, param, amount, key)| Some(Ask { field, param, amount: amount?, key });
    table.into_iter().filter_map(ask).collect()
}

/// Makes the head of `job` as large as its driver, where nobody has said how large it is and no pod is large enough.
pub(super) fn grow(job: &mut Value, submission: &Submission, choices: &Choices) {
    let mut size = Size::default();
    for ask in unmet(job, submission) {
        let whole = ask.amount.ceil();
        match ask.param {
            "num-cpus" if choices.head.cpus.is_none() => size.cpus = Some(format!("{whole}")),
            "memory" if choices.head.memory.is_none() => size.memory = Some(format!("{whole}")),
            "num-gpus" if choices.head.gpus.is_none() => size.gpus = Some(whole as u32),
            _ => {}
        }
    }
    shape::resize(&mut job["spec"]["rayClusterSpec"]["headGroupSpec"], &size);
}

/// What the driver asks for, if no pod of `job` has all of it.
pub(super) fn check(job: &Value, submission: &Submission) -> Vec<FieldError> {
    let error = |ask: Ask| {
        let Ask { field, amount, key, .. } = ask;
        let problem = format!(
            "is {amount}, and no pod of the job has all that its driver asks for, so it would wait for ever; ask for \
             larger ones by the metadata squadron.dev/head-{key} or squadron.dev/worker-{key}"
        );
        FieldError { path: field.to_owned(), problem }
    };
    unmet(job, submission).into_iter().map(error).collect()
}

/// What the head lacks, if no pod has everything; of a spec that cannot be read its own check tells.
fn unmet(job: &Value, submission: &Submission) -> Vec<Ask> {
    let Ok(cluster) = types::part::<types::RayClusterSpec>(&job["spec"], "rayClusterSpec") else {
        return Vec::new();
    };
    let offered: Vec<(Ask, Vec<f64>)> = asks(submission)
        .into_iter()
        .map(|ask| {
            let most = pod::offers(&cluster, ask.param);
            (ask, most)
        })
        .collect();
    let has =
        |(ask, most): &(Ask, Vec<f64>), pod: usize| most.get(pod).is_some_and(|most| ask.amount <= *most);
    let pods = offered.first().map_or(0, |(_, most)| most.len());
    if offered.is_empty() || (0..pods).any(|pod| offered.iter().all(|one| has(one, pod))) {
        return Vec::new();
    }
    offered.into_iter().filter(|one| !has(one, 0)).map(|(ask, _)| ask).collect()
}
