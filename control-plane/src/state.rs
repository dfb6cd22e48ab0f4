//! What every part of the control plane shares. Nothing in here is state that a second replica would need to know.

use std::{ops::Deref, sync::Arc, time::Duration};

use squadron_core::{dispatch::preempt, id::ControlPlaneId, lease::Terms, silence::Judge, time::Timestamp};
use squadron_store::Store;

use crate::{http::jobs::desk::Desk, tasks::duty::Races, wake::Wake};

/// Shared by requests, link streams and tasks. Cheap to clone.
#[derive(Clone)]
pub struct AppState(Arc<Whole>);

struct Whole {
    shared: Shared,
    races: Races,
    desk: Desk,
}

/// The parts.
pub struct Shared {
    pub store: Store,
    pub wake: Wake,
    pub identity: ControlPlaneId,
    pub settings: Settings,
}

/// What an administrator set, and what follows from it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where people reach the console and the API, without a slash at the end.
    pub public_url: String,
    /// Where agents reach the link.
    pub agent_address: String,
    /// PEM bundle that signs both listeners' certificates.
    pub ca_bundle: String,
    /// How often an agent says that it lives.
    pub heartbeat: Duration,
    /// Times of the leases that agents get.
    pub lease: Terms,
    /// How long the RayJob of a finished job stays in its cluster.
    pub finished_retention: Duration,
    /// How long an attempt runs at least before it may be stopped for another job.
    pub protected_run: Duration,
}

impl Settings {
    /// Silence after which a cluster counts as silent: two missed heartbeats, and half a beat for the way.
    fn silent_after(&self) -> Duration {
        self.heartbeat * 5 / 2
    }

    /// Times of leases of `seconds` with this heartbeat: a cluster is suspected after three of them.
    pub fn terms(heartbeat: Duration, seconds: u64) -> Terms {
        let heartbeat = u64::try_from(heartbeat.as_millis()).unwrap_or(u64::MAX);
        let three = heartbeat.saturating_mul(3);
        Terms {
            ttl: seconds.saturating_mul(1_000),
            heartbeat,
            suspect_after: three,
            grant: three,
            ..Terms::default()
        }
    }

    /// Judges silence at `now`.
    pub fn silence(&self, now: Timestamp) -> Judge {
        Judge { now, after_ms: i64::try_from(self.silent_after().as_millis()).unwrap_or(i64::MAX) }
    }

    /// Constants of preemption.
    pub fn preemption(&self) -> preempt::Terms {
        let protected_ms = u64::try_from(self.protected_run.as_millis()).unwrap_or(u64::MAX);
        preempt::Terms { protected_ms, ..preempt::Terms::default() }
    }

    /// The console's page of a job.
    pub fn job_link(&self, job: impl std::fmt::Display) -> String {
        format!("{}/jobs/{job}", self.public_url)
    }
}

impl AppState {
    pub fn new(shared: Shared) -> AppState {
        AppState(Arc::new(Whole { shared, races: Races::default(), desk: Desk::default() }))
    }

    /// Where submissions that come at the same time meet.
    pub fn desk(&self) -> &Desk {
        &self.0.desk
    }

    /// What this process saw of the duties.
    pub fn races(&self) -> &Races {
        &self.0.races
    }
}

impl Deref for AppState {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0.shared
    }
}
