//! The control stream: heartbeats up, desired states down.
//!
//! Invariant: what goes down is the whole set that the cluster should hold, with its generation, never a difference.

use std::time::Duration;

use prost::Message as _;
use squadron_core::id::AttemptId;
use squadron_proto::{
    CONTROL_LIMIT,
    link::{
        Challenge, ControlDown, ControlUp, DesiredAttempt, DesiredState, Heartbeat, HeartbeatReply, Welcome,
        control_down::Message as DownMessage, control_up::Message as UpMessage,
    },
};
use squadron_store::{attempt::DesiredRow, cluster::agent::Beat};
use tokio::time::{Instant, sleep_until};
use tokio_stream::StreamExt as _;
use tonic::Streaming;

use super::{
    Down, LinkService,
    guest::Guest,
    hello,
    leases::{self, Leases},
    stream::{End, HELLO_DEADLINE, Outbox, Session, out_of_order, serve},
    told::Teller,
};
use crate::{clock, wake::Topic};

/// How often a desired state that could not be read is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Starts the stream's task; the answer is what it sends.
pub fn open(service: LinkService, guest: Guest, up: Streaming<ControlUp>) -> Down<ControlDown> {
    let last = |refused| down(DownMessage::Refused(refused));
    serve("control", last, |out| async move { run(service, guest, up, &out).await })
}

fn down(message: DownMessage) -> ControlDown {
    ControlDown { message: Some(message) }
}

async fn run(
    service: LinkService,
    guest: Guest,
    mut up: Streaming<ControlUp>,
    out: &Outbox<ControlDown>,
) -> Result<(), End> {
    let nonce = hello::nonce();
    out.send(down(DownMessage::Challenge(Challenge { nonce: nonce.to_vec().into() }))).await?;
    let first = tokio::time::timeout(HELLO_DEADLINE, next(&mut up)).await.map_err(|_late| End::Gone)??;
    let UpMessage::Hello(said) = first else { return Err(out_of_order("it must begin with a hello")) };
    let session = Session::begin(service, guest, &nonce, &said).await?;
    go_above(&session, said.accepted_generation).await?;
    let beat = session.service.app.settings.heartbeat;
    let welcome = Welcome {
        heartbeat_every_ms: u64::try_from(beat.as_millis()).unwrap_or(u64::MAX),
        ..Welcome::default()
    };
    out.send(down(DownMessage::Welcome(welcome))).await?;
    tracing::info!(cluster = session.guest.name, epoch = session.epoch.0, "an agent is connected");
    let arrivals = session.service.told.to(session.guest.cluster);
    let lease = said.holds_leases.then(|| Leases::follow(&session));
    let (first, sent, quiet_after, heard) = (None, None, beat * 4, Instant::now());
    let mut control = Control { session, arrivals, lease, first, sent, quiet_after, heard };
    control.converse(&mut up, out).await
}

/// An agent never goes back to a lower generation than it holds. If our database was restored from a backup, it holds
/// one that we have yet to count to, and would leave out everything until then; so we go on above it.
async fn go_above(session: &Session, accepted: u64) -> Result<(), End> {
    let raised = session.service.app.store.raise_generation(session.guest.cluster, accepted).await;
    match raised {
        Ok(false) => Ok(()),
        Ok(true) => {
            tracing::warn!(
                cluster = session.guest.name,
                accepted,
                "the agent holds a newer desired state than we know; ours now counts as newer"
            );
            Ok(())
        }
        Err(error) => {
            tracing::warn!(%error, "the desired state's generation could not be raised");
            Err(End::Gone)
        }
    }
}

/// The next message, within the limit of this connection.
async fn next(up: &mut Streaming<ControlUp>) -> Result<UpMessage, End> {
    let message = match up.next().await {
        Some(Ok(message)) => message,
        Some(Err(_)) | None => return Err(End::Gone),
    };
    if message.encoded_len() > CONTROL_LIMIT {
        return Err(out_of_order("a message is longer than 64 KiB"));
    }
    message.message.ok_or_else(|| out_of_order("a message is empty"))
}

struct Control {
    session: Session,
    arrivals: Teller,
    /// Renewals of an agent that holds leases.
    lease: Option<Leases>,
    /// Generation that was sent first on this stream, and last.
    first: Option<u64>,
    sent: Option<u64>,
    /// Silence after which the stream is given up.
    quiet_after: Duration,
    heard: Instant,
}

impl Control {
    async fn converse(
        &mut self,
        up: &mut Streaming<ControlUp>,
        out: &Outbox<ControlDown>,
    ) -> Result<(), End> {
        loop {
            let up_to_date = self.send_desired(out).await?;
            for news in self.arrivals.news() {
                out.send(down(DownMessage::Arrivals(news))).await?;
            }
            let try_again = Instant::now() + if up_to_date { self.quiet_after } else { TRY_AGAIN };
            tokio::select! {
                message = next(up) => self.hear(message?, out).await?,
                news = self.session.news() => news?,
                () = self.arrivals.changed() => {}
                granted = leases::next(&mut self.lease) => out.send(down(DownMessage::Lease(granted))).await?,
                () = sleep_until(try_again.min(self.heard + self.quiet_after)) => {
                    if self.heard.elapsed() >= self.quiet_after {
                        return Err(End::Gone);
                    }
                }
            }
            self.session.check_standing()?;
        }
    }

    async fn hear(&mut self, message: UpMessage, out: &Outbox<ControlDown>) -> Result<(), End> {
        self.heard = Instant::now();
        match message {
            UpMessage::Heartbeat(beat) => self.beat(&beat, out).await,
            UpMessage::FreshToken(token) => self.session.renew(token).await,
            UpMessage::Accept(accept) => {
                self.accept(&leases::accepted(&accept)).await;
                Ok(())
            }
            UpMessage::Hello(_) => Err(out_of_order("a second hello")),
        }
    }

    async fn beat(&self, beat: &Heartbeat, out: &Outbox<ControlDown>) -> Result<(), End> {
        let now = clock::now();
        self.session.service.beats.note(Beat {
            cluster: self.session.guest.cluster,
            heard_at: now,
            skew_ms: now.0.saturating_sub(beat.sent_at_us) / 1_000,
            spool_bytes: i64::try_from(beat.spool_bytes).unwrap_or(i64::MAX),
            applied_generation: applied(self.first, self.sent, beat.desired_generation),
        });
        if let Some(lease) = &self.lease {
            lease.ask(beat.number);
        }
        out.send(down(DownMessage::HeartbeatReply(HeartbeatReply {
            number: beat.number,
            received_at_us: now.0,
        })))
        .await
    }

    /// The agent is ready to start attempts; the desired state says when that is committed. A database that is away is
    /// asked again with the next heartbeat.
    async fn accept(&self, attempts: &[AttemptId]) {
        let app = &self.session.service.app;
        match app.store.accept(self.session.guest.cluster, self.session.epoch, attempts).await {
            Ok(true) => app.wake.notify(Topic::Desired),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "accepted attempts wait for the database"),
        }
    }

    /// An agent that holds no leases starts what it gets, so whatever it may get counts as accepted.
    async fn accept_for_the_agent(&self) {
        let read = self.session.service.app.store.desired(self.session.guest.cluster).await;
        let open = |row: &DesiredRow| row.accepted_by.is_none() && !row.created;
        let rows = read.map(|(_, rows)| rows).unwrap_or_default();
        let offered: Vec<AttemptId> = rows.iter().filter(|row| open(row)).map(|row| row.id).collect();
        if !offered.is_empty() {
            self.accept(&offered).await;
        }
    }

    /// Sends the desired state if a newer one exists. False when it could not be read.
    async fn send_desired(&mut self, out: &Outbox<ControlDown>) -> Result<bool, End> {
        let newest = self.session.desired_generation();
        if self.sent.is_some_and(|sent| sent >= newest) {
            return Ok(true);
        }
        // Read before the set: a set that is older than the renewal could hold what was given up before it.
        let answers = self.lease.as_ref().map_or(0, Leases::committed);
        if self.lease.is_none() {
            self.accept_for_the_agent().await;
        }
        let (generation, rows) =
            match self.session.service.app.store.desired(self.session.guest.cluster).await {
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%error, "a desired state could not be read; trying again");
                    return Ok(false);
                }
            };
        let generation = u64::try_from(generation).unwrap_or(0);
        let state = DesiredState { generation, attempts: rows.into_iter().map(attempt).collect(), answers };
        if state.encoded_len() + 64 > squadron_proto::DESIRED_LIMIT {
            // The dispatcher assigns nothing that would not fit; heartbeats and what was sent before go on anyway.
            let message =
                "the cluster's desired state is longer than one message may be; cancel some of its jobs";
            tracing::error!(cluster = self.session.guest.name, generation, message);
            self.sent = Some(generation);
            return Ok(true);
        }
        out.send(down(DownMessage::Desired(state))).await?;
        self.first = self.first.or(Some(generation));
        self.sent = Some(generation);
        Ok(true)
    }
}

/// What an agent's word on the generation that it applied is worth: nothing, unless that came from this stream. It may
/// hold a state from before a restored backup, whose number means another set than ours. 0 says nothing.
fn applied(first: Option<u64>, sent: Option<u64>, said: u64) -> u64 {
    let ours = first.zip(sent).is_some_and(|(first, sent)| (first..=sent).contains(&said));
    if ours { said } else { 0 }
}

fn attempt(row: DesiredRow) -> DesiredAttempt {
    DesiredAttempt {
        job_id: row.id.job.to_string(),
        number: row.id.number,
        queue: row.queue,
        name: row.object_name,
        namespace: row.namespace,
        manifest: row.manifest,
        on_lost: row.on_lost.word().to_owned(),
        accepted_by: row.accepted_by.map(|epoch| epoch.0),
        created: row.created,
        before: row.before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_generation_of_this_stream_counts_as_applied() {
        assert_eq!(applied(None, None, 57), 0, "nothing was sent yet");
        assert_eq!(applied(Some(58), Some(60), 57), 0, "from before the stream");
        assert_eq!(applied(Some(58), Some(60), 58), 58);
        assert_eq!(applied(Some(58), Some(60), 60), 60);
        assert_eq!(applied(Some(58), Some(60), 61), 0, "never sent");
    }
}
