//! Controller: reconciles RayClusters and RayJobs with the plans of `squadron-ray`.
//!
//! Owns the workers and everything between a plan and the API server. Invariant: no pass before the caches hold a
//! complete list, and none while KubeRay's operator is active. One slow object holds up one worker, not the others.

mod address;
mod api;
mod dashboard;
mod events;
mod guard;
mod package;
mod pass;
mod poll;
mod queue;
mod view;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kube::Client;
use serde_json::Value;
use squadron_ray::{Failures, Options};
use tokio::task::JoinSet;

use crate::{
    uplink::Peer,
    watch::{Cache, Kind, Target, TargetKind, object},
};

pub use api::{WriteError, Writer, reference};
pub use dashboard::{DashboardError, Dashboards, last_line};
pub use events::Events;
pub use guard::Permit;
pub use queue::Queue;

/// Objects judged at the same time.
const WORKERS: usize = 8;

/// Whether the log of a RayJob's driver is read from its head, and not yet to its end.
pub type LogOpen = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// What the controller is made of.
pub struct Setup {
    pub client: Client,
    pub cache: Arc<Cache>,
    pub queue: Arc<Queue>,
    pub dashboards: Dashboards,
    /// Where the packages of jobs come from.
    pub peer: Arc<Peer>,
    pub log_open: LogOpen,
    pub options: Options,
    /// Name of this agent's pod, for Events.
    pub instance: String,
}

struct Controller {
    shop: pass::Shop,
    queue: Arc<Queue>,
    permit: Permit,
    failures: Mutex<BTreeMap<Target, Failures>>,
}

/// Starts the guard and the workers; they run until the set is dropped.
pub fn start(setup: Setup) -> (JoinSet<()>, Permit) {
    let permit = Permit::default();
    let shop = pass::Shop {
        writes: view::Writes::default(),
        writer: Writer::new(setup.client.clone(), setup.cache.clone()),
        polls: poll::Polls::new(setup.dashboards.clone(), setup.queue.clone()),
        dashboards: setup.dashboards,
        peer: setup.peer,
        events: events::Events::new(setup.client.clone(), setup.instance),
        log_open: setup.log_open,
        options: setup.options,
        cache: setup.cache.clone(),
    };
    let controller =
        Controller { shop, queue: setup.queue.clone(), permit: permit.clone(), failures: Mutex::default() };
    let controller = Arc::new(controller);
    let mut tasks = JoinSet::new();
    let (cache, queue) = (setup.cache, setup.queue);
    tasks.spawn(guard::keep(setup.client, permit.clone(), move || wake_all(&cache, &queue)));
    for _ in 0..WORKERS {
        tasks.spawn(work(controller.clone()));
    }
    (tasks, permit)
}

fn wake_all(cache: &Cache, queue: &Queue) {
    for (kind, target) in [(Kind::RayCluster, TargetKind::Cluster), (Kind::RayJob, TargetKind::Job)] {
        for found in cache.shelf(kind).all() {
            queue.wake(Target::new(target, object::namespace(found), object::name(found)));
        }
    }
}

async fn work(controller: Arc<Controller>) {
    loop {
        let target = controller.queue.next().await;
        let again = controller.judge(&target).await;
        controller.queue.done(&target);
        if let Some(pause) = again {
            controller.queue.schedule(target, pause);
        }
    }
}

impl Controller {
    async fn judge(&self, target: &Target) -> Option<Duration> {
        if !self.permit.is_given() {
            // Everything is woken when the permit comes.
            return None;
        }
        if !self.shop.cache.is_complete() {
            return Some(Duration::from_millis(200));
        }
        let mut failures = self.known().remove(target).unwrap_or_default();
        let again = self.shop.pass(target, &mut failures).await;
        if !failures.0.is_empty() {
            self.known().insert(target.clone(), failures);
        }
        again
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<Target, Failures>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
