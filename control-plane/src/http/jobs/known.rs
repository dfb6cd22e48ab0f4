//! The queue and the cluster that a submission names, or who was probably meant.

use squadron_api::error::Code;
use squadron_core::{
    id::ClusterId,
    lease::QueueLease,
    name::QueueName,
    nearest::nearest,
    sentence::{clip, list},
};

use crate::{
    http::error::{Api, Result},
    state::AppState,
};

/// The queue, or a refusal that lists those there are and the one that was probably meant.
pub async fn queue(app: &AppState, name: &str) -> Result<(QueueName, QueueLease)> {
    if let Some(lease) = app.store.queue_lease(name).await? {
        let name = QueueName::new(name)?;
        let below = app.store.queues_below(&name).await?;
        return if below.is_empty() { Ok((name, lease)) } else { Err(inner(&name, &below)) };
    }
    let queues: Vec<String> = app.store.queues().await?.into_iter().map(|queue| queue.name).collect();
    let shown = clip(name, 80);
    let (detail, near) = match nearest(name, queues.iter().map(String::as_str)) {
        Some(near) => (format!("there is no queue {shown:?}; did you mean {near:?}?"), near),
        None => (format!("there is no queue {shown:?}"), ""),
    };
    let known = if queues.is_empty() { "none".to_owned() } else { list(&queues) };
    let example = if near.is_empty() { queues.first().map_or("QUEUE", String::as_str) } else { near };
    Err(Api::new(
        Code::UnknownQueue,
        format!("{detail} Queues: {known}").replace("\" Queues", "\". Queues"),
        format!("submit with -q {example}, or have an operator add it: squadron queue add {shown}"),
    ))
}

/// Jobs wait in leaves.
fn inner(name: &QueueName, below: &[String]) -> Api {
    let example = below.first().map_or("QUEUE", String::as_str);
    Api::new(
        Code::Conflict,
        format!("queue {name} holds other queues, and jobs wait in those: {}", list(below)),
        format!("submit with -q {example}, or to another of them"),
    )
}

pub async fn cluster(app: &AppState, name: &str) -> Result<ClusterId> {
    let found = app.store.cluster_named(name).await?;
    found
        .map(|cluster| cluster.id)
        .ok_or_else(|| Api::not_found("cluster", clip(name, 80), "squadron cluster list"))
}
