//! The queue, the cluster and the priority class that a submission names, or who was probably meant.
//!
//! Invariant: of the submissions of one request each name is looked up once, so they are all judged by the same.

use std::collections::{BTreeMap, btree_map::Entry};

use squadron_api::error::Code;
use squadron_core::{
    id::ClusterId,
    job::marks,
    lease::QueueLease,
    name::QueueName,
    named::{self, Misnamed, PRIORITY_LABEL, Wrong},
    quota::PriorityClass,
    sentence::clip,
};
use squadron_ray::manifest::ParsedRayJob;

use crate::{
    http::error::{Api, Result},
    state::AppState,
};

/// What the submissions of one request name, as far as it was looked up.
pub struct Names<'a> {
    app: &'a AppState,
    queues: BTreeMap<String, (QueueName, QueueLease)>,
    clusters: BTreeMap<String, ClusterId>,
    classes: Option<Vec<PriorityClass>>,
}

impl<'a> Names<'a> {
    pub fn of(app: &'a AppState) -> Names<'a> {
        Names { app, queues: BTreeMap::new(), clusters: BTreeMap::new(), classes: None }
    }

    /// The queue, or a refusal that lists those there are and the one that was probably meant.
    pub async fn queue(&mut self, name: &str) -> Result<(QueueName, QueueLease)> {
        Ok(match self.queues.entry(name.to_owned()) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(unknown) => unknown.insert(queue(self.app, name).await?).clone(),
        })
    }

    /// The class that the request names, or else the manifest's label; `None` for the ordinary priority.
    pub async fn priority(
        &mut self,
        asked: Option<&str>,
        parsed: &ParsedRayJob,
    ) -> Result<Option<PriorityClass>> {
        let label = parsed.labels.get(PRIORITY_LABEL).map(String::as_str);
        let Some(name) = asked.or(label).filter(|name| !name.is_empty()) else { return Ok(None) };
        let classes = match &mut self.classes {
            Some(classes) => classes,
            unknown => unknown.insert(self.app.store.priority_classes().await?),
        };
        named::class(name, classes).map_err(|wrong| refused(&wrong))
    }

    /// The only cluster that the job may use: the request's, or else that of the manifest's annotation.
    pub async fn pin(&mut self, asked: Option<&str>, parsed: &ParsedRayJob) -> Result<Option<ClusterId>> {
        let Some(name) = asked.or(parsed.cluster.as_deref()) else { return Ok(None) };
        let found = match self.clusters.entry(name.to_owned()) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(unknown) => cluster(self.app, name).await.map(|id| *unknown.insert(id)),
        };
        let pinned = found.map_err(|error| if asked.is_some() { error } else { annotated(error) });
        pinned.map(Some)
    }
}

async fn queue(app: &AppState, name: &str) -> Result<(QueueName, QueueLease)> {
    if let Some(lease) = app.store.queue_lease(name).await? {
        let name = QueueName::new(name)?;
        let below = app.store.queues_below(&name).await?;
        named::leaf(name.as_str(), &below).map_err(|wrong| refused(&wrong))?;
        return Ok((name, lease));
    }
    let queues: Vec<String> = app.store.queues().await?.into_iter().map(|queue| queue.name).collect();
    let wrong = named::unknown_queue(name, &queues);
    let example = if wrong.example.is_empty() { "QUEUE" } else { &wrong.example };
    let next = format!(
        "submit with -q {example}, or have an operator add it: squadron queue add {}",
        clip(name, 80)
    );
    Err(Api::new(Code::UnknownQueue, wrong.detail, next))
}

fn refused(wrong: &Misnamed) -> Api {
    let example = &wrong.example;
    let (code, next) = match wrong.wrong {
        Wrong::UnknownQueue => (Code::UnknownQueue, format!("submit with -q {example}")),
        Wrong::InnerQueue => (Code::Conflict, format!("submit with -q {example}, or to another of them")),
        Wrong::UnknownPriorityClass => (
            Code::UnknownPriorityClass,
            "name one of them, leave it out, or have an administrator declare it: squadron apply -f FILE"
                .to_owned(),
        ),
    };
    Api::new(code, wrong.detail.clone(), next)
}

/// Says where the name stands.
fn annotated(mut error: Api) -> Api {
    if error.code == Code::NotFound {
        error.detail =
            format!("the manifest is pinned by its annotation {}, and {}", marks::CLUSTER, error.detail);
    }
    error
}

async fn cluster(app: &AppState, name: &str) -> Result<ClusterId> {
    let found = app.store.cluster_named(name).await?;
    found
        .map(|cluster| cluster.id)
        .ok_or_else(|| Api::not_found("cluster", clip(name, 80), "squadron cluster list"))
}
