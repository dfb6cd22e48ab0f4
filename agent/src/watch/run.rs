//! Run: one task per kind that lists, watches and hands on.

use std::{sync::Arc, time::Duration};

use futures::{Stream, StreamExt};
use kube::{
    Api, Client,
    core::DynamicObject,
    runtime::{WatchStreamExt, watcher},
};
use serde_json::Value;
use squadron_ray::view::Object;
use tokio::{sync::Notify, task::JoinSet};

use crate::clock::now;

use super::{
    Cache, FactSender, Kind, Target, object,
    observe::{gone_why, observe},
    teller::Teller,
    warnings::{self, Warnings},
};

/// How often the first lists of owners are looked for, and for how long others wait for them.
const LOOK: Duration = Duration::from_millis(20);
const OWNERS_PATIENCE: Duration = Duration::from_secs(30);

/// Where the watches put what they see.
pub struct Outlets {
    pub cache: Arc<Cache>,
    pub facts: FactSender,
    /// Called for every object that should be judged again.
    pub wake: Arc<dyn Fn(Target) + Send + Sync>,
    pub kubernetes_version: String,
    /// Woken when everything is to be told again.
    pub again: Arc<Notify>,
}

struct Watch {
    kind: Kind,
    cache: Arc<Cache>,
    teller: Arc<Teller>,
    wake: Arc<dyn Fn(Target) + Send + Sync>,
}

/// Starts the watches of all kinds; they run until the set is dropped.
pub fn start(client: &Client, outlets: Outlets) -> JoinSet<()> {
    let teller = Arc::new(Teller::new(outlets.facts, outlets.kubernetes_version));
    let mut tasks = JoinSet::new();
    tasks.spawn(tell_again(teller.clone(), outlets.again));
    for kind in Kind::ALL {
        let watch =
            Watch { kind, cache: outlets.cache.clone(), teller: teller.clone(), wake: outlets.wake.clone() };
        let stream = stream(client.clone(), kind);
        match kind {
            Kind::Event => tasks.spawn(follow_warnings(watch, stream)),
            _ => tasks.spawn(follow(watch, stream)),
        };
    }
    tasks
}

async fn tell_again(teller: Arc<Teller>, again: Arc<Notify>) {
    loop {
        again.notified().await;
        teller.again(now()).await;
    }
}

type Change = watcher::Event<DynamicObject>;

fn stream(client: Client, kind: Kind) -> impl Stream<Item = Change> + Unpin + Send {
    let api: Api<DynamicObject> = Api::all_with(client, &kind.resource());
    let changes = watcher(api, kind.watch_config()).default_backoff();
    Box::pin(changes.filter_map(move |change| async move {
        change.inspect_err(|error| tracing::warn!(?kind, %error, "a watch failed; it is tried again")).ok()
    }))
}

async fn follow(watch: Watch, mut changes: impl Stream<Item = Change> + Unpin) {
    watch.owners_listed().await;
    while let Some(change) = changes.next().await {
        watch.take(change).await;
    }
}

async fn follow_warnings(watch: Watch, mut changes: impl Stream<Item = Change> + Unpin) {
    let mut warnings = Warnings::new(watch.cache.clone());
    loop {
        let observed = tokio::select! {
            change = changes.next() => match change {
                Some(Change::Apply(event) | Change::InitApply(event)) => read_event(event)
                    .and_then(|event| warnings.take(event)).into_iter().collect(),
                Some(_) => Vec::new(),
                None => return,
            },
            () = tokio::time::sleep(warnings::PAUSE), if warnings.is_waiting() => warnings.retry(),
        };
        for observed in observed {
            watch.teller.seen(Kind::Event, observed, now()).await;
        }
    }
}

fn read_event(event: DynamicObject) -> Option<k8s_openapi::api::core::v1::Event> {
    event.try_parse().inspect_err(|error| tracing::warn!(%error, "an event could not be read")).ok()
}

impl Watch {
    /// Waits until the objects that own those of this kind are known, so that the first list finds whose they are.
    async fn owners_listed(&self) {
        let listed = || self.kind.owners().iter().all(|kind| self.cache.shelf(*kind).is_complete());
        let all = async {
            while !listed() {
                tokio::time::sleep(LOOK).await;
            }
        };
        if tokio::time::timeout(OWNERS_PATIENCE, all).await.is_err() {
            tracing::warn!(kind = ?self.kind, "owners cannot be listed; what they own is watched without them");
        }
    }

    async fn take(&self, change: Change) {
        match change {
            Change::Init => {
                self.cache.shelf(self.kind).list_begins();
                self.teller.list_begins(self.kind).await;
            }
            Change::InitApply(object) | Change::Apply(object) => self.seen(object).await,
            Change::Delete(object) => self.gone(object).await,
            Change::InitDone => self.list_ended().await,
        }
    }

    async fn seen(&self, mut seen: DynamicObject) {
        seen.metadata.managed_fields = None;
        let raw = self.raw(seen);
        if let Some(observed) = observe(self.kind, &raw, &self.cache) {
            self.teller.seen(self.kind, observed, now()).await;
        }
        if self.kind.keeps(&raw) {
            self.cache.shelf(self.kind).put(raw.clone());
            self.wake(&raw);
        }
    }

    async fn gone(&self, gone: DynamicObject) {
        let raw = self.raw(gone);
        let why = gone_why(self.kind, &raw, &self.cache);
        self.cache.shelf(self.kind).remove(&raw);
        if let Some(observed) = observe(self.kind, &raw, &self.cache) {
            self.teller.gone(self.kind, observed, now(), why).await;
        }
        self.cache.forget(object::uid(&raw));
        if self.kind.keeps(&raw) {
            self.wake(&raw);
        }
    }

    async fn list_ended(&self) {
        let lost = self.cache.shelf(self.kind).list_ends();
        self.teller.list_ends(self.kind, now(), "it was gone when the agent looked again").await;
        for lost in lost {
            self.cache.forget(object::uid(&lost));
            self.wake(&lost);
        }
    }

    fn wake(&self, raw: &Value) {
        let owner_of = |namespace: &str, cluster: &str| self.cache.owner_of_cluster(namespace, cluster);
        for target in self.kind.wakes(raw, owner_of) {
            (self.wake)(target);
        }
    }

    /// The object as JSON, with the kind that list items lack. Its fields are moved, because they are many.
    fn raw(&self, seen: DynamicObject) -> Object {
        let resource = self.kind.resource();
        let mut raw = seen.data;
        raw["metadata"] = serde_json::to_value(&seen.metadata).unwrap_or_default();
        raw["apiVersion"] = Value::String(resource.api_version);
        raw["kind"] = Value::String(resource.kind);
        Arc::new(raw)
    }
}
