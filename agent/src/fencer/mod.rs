//! Fencer: a role of its own that stops what must stop when the agent is dead (R7).
//!
//! Owns the shell around [`core::lease::Fencer`](squadron_core::lease::Fencer): it leaves a mark in its own Lease object,
//! reads the agent's, and stops fenced attempts when the end that it counts is over. Invariant: what it stops is noted
//! before it is stopped, so that the agent's next life reports it rightly; attempts that wait are never touched. Fails
//! safe in the direction of stopping: an agent that cannot write its Lease object loses its fenced attempts. Repaired by
//! the agent's next write.

pub mod mark;
mod stop;

use std::time::Duration;

use anyhow::Context;
use clap::Args;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use squadron_core::{
    id::{AttemptId, ClusterId},
    lease::{Fencer, Fencing, Terms},
};

use self::{
    mark::{Mark, Told},
    stop::Reach,
};
use crate::{clock, epoch, lease::disk::boot_id};

/// One look, with everything that it stops.
const PATIENCE: Duration = Duration::from_secs(15);
/// Attempts that the note holds.
const MOST_NOTED: usize = 200;

/// Settings of the fencer role.
#[derive(Args, Clone, Debug)]
pub struct FencerArgs {
    /// Id of this cluster; RayJobs of other ids are left alone.
    #[arg(long, env = "SQUADRON_CLUSTER_ID")]
    pub cluster_id: ClusterId,
    /// Namespaces to look in, comma-separated; all if none is given.
    #[arg(long, env = "SQUADRON_NAMESPACES", value_delimiter = ',')]
    pub namespaces: Vec<String>,
    #[arg(long, env = "POD_UID")]
    pub pod_uid: String,
    #[arg(long, env = "POD_NAMESPACE")]
    pub pod_namespace: String,
}

/// Looks again and again until the process ends.
pub async fn run(client: Client, args: FencerArgs) -> anyhow::Result<()> {
    let mut post = Post::new(client, args);
    tracing::info!(boot = post.boot, "the fencer watches the agent's Lease");
    loop {
        let pause = match tokio::time::timeout(PATIENCE, post.look()).await {
            Ok(Ok(pause)) => pause,
            Ok(Err(error)) => {
                tracing::warn!(error = format!("{error:#}"), "a look failed");
                LOOK
            }
            Err(_late) => {
                tracing::warn!("the API server did not answer a look in time");
                LOOK
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// How often it looks.
const LOOK: Duration = Duration::from_secs(5);

/// One life of the fencer.
struct Post {
    leases: Api<Lease>,
    reach: Reach,
    boot: String,
    life: String,
    /// None before the first look.
    fencer: Option<Fencer>,
}

impl Post {
    fn new(client: Client, args: FencerArgs) -> Post {
        Post {
            leases: Api::namespaced(client.clone(), &args.pod_namespace),
            reach: Reach { client, cluster: args.cluster_id.to_string(), namespaces: args.namespaces },
            boot: boot_id(),
            // A container that starts anew keeps its pod's uid.
            life: format!("{}-{}", args.pod_uid, clock::tick().0),
            fencer: None,
        }
    }

    /// Reads, leaves a mark, judges and stops. Answers when to look next.
    async fn look(&mut self) -> anyhow::Result<Duration> {
        let found = self.leases.get_opt(epoch::NAME).await.context("the agent's Lease cannot be read")?;
        let own = self.leases.get_opt(mark::FENCER).await.context("the fencer's Lease cannot be read")?;
        let told = found.as_ref().map(Told::read);
        let now = clock::tick();
        let length = told.as_ref().map_or(Terms::default().ttl, |told| told.length);
        let terms = Terms { ttl: length, ..Terms::default() };
        let fencer = self.fencer.get_or_insert_with(|| {
            match told.as_ref().and_then(|told| told.ends(&self.boot, now)) {
                Some(until) => Fencer::recovered(&terms, until, now),
                None => Fencer::new(&terms, now),
            }
        });
        fencer.read(told.and_then(|told| told.for_life(&self.boot, &self.life)), &terms, now);
        let number = fencer.mark(now);
        let mark = Mark { boot: self.boot.clone(), life: self.life.clone(), number, at: now };
        let own = self.write(own, mark::MARK, mark.to_string()).await?;
        self.judge(own, &terms).await
    }

    async fn judge(&self, own: Lease, terms: &Terms) -> anyhow::Result<Duration> {
        let held = self.reach.held().await?;
        let attempts: Vec<_> = held.iter().map(|held| (held.attempt, held.policy)).collect();
        let Some(fencer) = &self.fencer else { return Ok(LOOK) };
        let now = clock::tick();
        let stopped = match fencer.judge(&attempts, now) {
            Fencing::Calm { until } => {
                return Ok(LOOK.min(Duration::from_millis(until.since(now).max(1))));
            }
            Fencing::Stop(stopped) => stopped,
        };
        let Some((_, why)) = stopped.first() else { return Ok(LOOK) };
        let ids: Vec<AttemptId> = stopped.iter().map(|(attempt, _)| *attempt).collect();
        let noted = mark::stopped(&own);
        if ids.iter().any(|id| !noted.contains(id)) {
            tracing::warn!(why, attempts = ids.len(), "the fencer stops attempts");
            self.note(own, noted, &ids).await?;
        }
        for held in held.iter().filter(|held| ids.contains(&held.attempt)) {
            if let Err(error) = self.reach.stop(held, terms.grace).await {
                tracing::warn!(attempt = %held.attempt, error = format!("{error:#}"), "an attempt cannot be stopped yet");
            }
        }
        // What could not be stopped is tried again soon.
        Ok(Duration::from_millis(terms.poll))
    }

    /// Notes what is about to be stopped.
    async fn note(&self, own: Lease, mut noted: Vec<AttemptId>, stopped: &[AttemptId]) -> anyhow::Result<()> {
        noted.extend(stopped);
        let mut seen = std::collections::BTreeSet::new();
        noted.retain(|attempt| seen.insert(*attempt));
        let newest = noted.split_off(noted.len().saturating_sub(MOST_NOTED));
        self.write(Some(own), mark::STOPPED, serde_json::to_string(&newest)?).await.map(drop)
    }

    async fn write(&self, own: Option<Lease>, key: &str, value: String) -> anyhow::Result<Lease> {
        let exists = own.is_some();
        let mut lease = own.unwrap_or_default();
        lease.metadata.name = Some(mark::FENCER.to_owned());
        lease.metadata.managed_fields = None;
        lease.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value);
        let params = PostParams::default();
        let written = match exists {
            true => self.leases.replace(mark::FENCER, &params, &lease).await,
            false => self.leases.create(&params, &lease).await,
        };
        written.context("the fencer's Lease cannot be written")
    }
}
