//! Fencer: a role of its own that stops what must stop when the agent is dead (R7).
//!
//! Owns the shell around [`core::lease::Fencer`](squadron_core::lease::Fencer): it leaves a mark in its own Lease object,
//! reads the agent's, and stops fenced attempts when the end that it counts is over. Invariants: nothing is stopped unless
//! the agent's Lease, read after everything else, still says so; what is stopped is noted first, so that the agent's next
//! life reports it rightly; attempts that wait are never touched. Fails safe in the direction of stopping: an agent that
//! cannot write its Lease object loses its fenced attempts, and a note that cannot be written holds up no stop. Repaired
//! by the agent's next write.

mod many;
pub mod mark;
pub mod note;
#[cfg(test)]
pub mod server;
mod stop;
#[cfg(test)]
mod tests;

pub use self::many::{Lanes, TOGETHER, by_groups};

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context;
use clap::Args;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use squadron_core::{
    id::{AttemptId, ClusterId},
    lease::{Fencer, Fencing, Terms, Tick},
};

use self::{
    mark::{Mark, Told},
    note::Note,
    stop::{Held, Reach},
};
use crate::{clock, epoch, lease::disk::boot_id};

/// One look. What it finds is stopped without a limit.
const PATIENCE: Duration = Duration::from_secs(15);
/// Writing the note; the stop does not wait longer for it.
const NOTING: Duration = Duration::from_secs(1);
/// What could not be stopped is tried again after this.
const AGAIN: Duration = Duration::from_millis(500);

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
    let mut post = Post::new(client, args, clock::tick);
    tracing::info!(boot = post.boot, "the fencer watches the agent's Lease");
    loop {
        let pause = match tokio::time::timeout(PATIENCE, post.look()).await {
            Ok(Ok(Seen::Calm(pause))) => pause,
            Ok(Ok(Seen::Over(over))) => post.stop(*over).await,
            Ok(Err(error)) => {
                tracing::warn!(error = format!("{error:#}"), "a look failed");
                post.often()
            }
            Err(_late) => {
                tracing::warn!("the API server did not answer a look in time");
                post.often()
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// One life of the fencer.
struct Post {
    leases: Api<Lease>,
    reach: Reach,
    boot: String,
    life: String,
    /// Reads the clock that leases are counted on.
    clock: fn() -> Tick,
    terms: Terms,
    /// None before the first look.
    fencer: Option<Fencer>,
}

/// What a look found.
enum Seen {
    /// Nothing is to be stopped; the next look comes after this.
    Calm(Duration),
    Over(Box<Over>),
}

/// The lease is over for these.
struct Over {
    held: Vec<Held>,
    why: String,
    /// The fencer's own Lease, if there is one.
    own: Option<Lease>,
}

impl Post {
    fn new(client: Client, args: FencerArgs, clock: fn() -> Tick) -> Post {
        Post {
            leases: Api::namespaced(client.clone(), &args.pod_namespace),
            reach: Reach::new(client, args.cluster_id.to_string(), args.namespaces),
            boot: boot_id(),
            // A container that starts anew keeps its pod's uid.
            life: format!("{}-{}", args.pod_uid, clock().0),
            clock,
            terms: Terms::default(),
            fencer: None,
        }
    }

    /// The pause between looks: the mark that the end is counted from is at most this old when the agent repeats it, so
    /// it is short where the lease is.
    fn often(&self) -> Duration {
        Duration::from_millis(self.terms.look.min(self.terms.ttl / 10).max(1_000))
    }

    /// Reads the agent's Lease and judges; what is held is judged by what the agent's Lease says after it was listed.
    async fn look(&mut self) -> anyhow::Result<Seen> {
        let own = self.leases.get_opt(mark::FENCER).await.context("the fencer's Lease cannot be read")?;
        self.hear().await?;
        if let Some(until) = self.calm_until() {
            self.leave_mark(own, None).await?;
            if self.is_renewed() {
                self.reach.hand_over();
            }
            let left = Duration::from_millis(until.since((self.clock)()).max(1));
            return Ok(Seen::Calm(self.often().min(left)));
        }
        let held = self.reach.held().await?;
        // That may have taken long, and a living agent wrote meanwhile.
        self.hear().await?;
        Ok(self.judge(held, own))
    }

    /// Takes what the agent's Lease says now.
    async fn hear(&mut self) -> anyhow::Result<()> {
        let found = self.leases.get_opt(epoch::NAME).await.context("the agent's Lease cannot be read")?;
        let told = found.as_ref().map(Told::read);
        let now = (self.clock)();
        let length = told.as_ref().map_or(Terms::default().ttl, |told| told.length);
        self.terms = Terms { ttl: length, ..Terms::default() };
        let terms = &self.terms;
        let fencer = self.fencer.get_or_insert_with(|| {
            match told.as_ref().and_then(|told| told.ends(&self.boot, now)) {
                Some(until) => Fencer::recovered(terms, until, now),
                None => Fencer::new(terms, now),
            }
        });
        fencer.read(told.and_then(|told| told.for_life(&self.boot, &self.life)), terms, now);
        Ok(())
    }

    /// Leaves a mark for a living agent to repeat, and a note if there is a new one.
    async fn leave_mark(&mut self, own: Option<Lease>, note: Option<&Note>) -> anyhow::Result<Lease> {
        let now = (self.clock)();
        let number = self.fencer.as_mut().map_or(0, |fencer| fencer.mark(now));
        let mark = Mark { boot: self.boot.clone(), life: self.life.clone(), number, at: now };
        let exists = own.is_some();
        let mut lease = own.unwrap_or_default();
        lease.metadata.name = Some(mark::FENCER.to_owned());
        lease.metadata.managed_fields = None;
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(mark::MARK.to_owned(), mark.to_string());
        if let Some(note) = note {
            annotations.insert(mark::STOPPED.to_owned(), note.to_string());
        }
        let params = PostParams::default();
        let written = match exists {
            true => self.leases.replace(mark::FENCER, &params, &lease).await,
            false => self.leases.create(&params, &lease).await,
        };
        written.context("the fencer's Lease cannot be written")
    }

    /// The end of the lease, if it lies ahead.
    fn calm_until(&self) -> Option<Tick> {
        let ends = self.fencer.as_ref()?.ends();
        ((self.clock)() < ends).then_some(ends)
    }

    /// Whether a living agent renewed its lease, so that it goes on with what was begun.
    fn is_renewed(&self) -> bool {
        self.fencer.as_ref().is_some_and(|fencer| fencer.is_renewed((self.clock)()))
    }

    fn judge(&self, mut held: Vec<Held>, own: Option<Lease>) -> Seen {
        let Some(fencer) = &self.fencer else { return Seen::Calm(self.often()) };
        let attempts: Vec<_> = held.iter().map(|held| (held.attempt, held.policy)).collect();
        match fencer.judge(&attempts, (self.clock)()) {
            Fencing::Calm { .. } => Seen::Calm(AGAIN),
            Fencing::Stop(stopped) => {
                let why = stopped.first().map(|(_, why)| why.clone()).unwrap_or_default();
                let stopped: BTreeSet<AttemptId> = stopped.into_iter().map(|(attempt, _)| attempt).collect();
                held.retain(|held| stopped.contains(&held.attempt));
                Seen::Over(Box::new(Over { held, why, own }))
            }
        }
    }

    /// Stops, however long it takes; answers when to look next.
    async fn stop(&mut self, over: Over) -> Duration {
        let ids: Vec<AttemptId> = over.held.iter().map(|held| held.attempt).collect();
        let note = over.own.as_ref().map(mark::stopped).unwrap_or_default().with(&ids);
        if note.is_some() {
            tracing::warn!(why = over.why, attempts = ids.len(), "the fencer stops attempts");
        }
        let left = tokio::time::timeout(NOTING, self.leave_mark(over.own, note.as_ref())).await;
        // The next look tries it again.
        match left {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "attempts are stopped that may not be noted yet"
                );
            }
            Err(_late) => {
                tracing::warn!("attempts are stopped that may not be noted yet: writing takes long");
            }
        }
        let round = self.reach.stop(over.held, self.terms.grace).await;
        match (round.failed, round.left) {
            (0, 0) => self.often(),
            (0, _) => Duration::from_millis(self.terms.poll),
            _ => AGAIN,
        }
    }
}
