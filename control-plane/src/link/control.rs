//! The control stream: heartbeats up, desired states down.
//!
//! Invariant: what goes down are states, never commands; whatever was lost or came twice, the next state says it all.

use std::time::Duration;

use prost::Message as _;
use squadron_core::id::AttemptId;
use squadron_proto::{
    CONTROL_LIMIT,
    link::{
        Challenge, ControlDown, ControlUp, Heartbeat, HeartbeatReply, Welcome,
        control_down::Message as DownMessage, control_up::Message as UpMessage,
    },
};
use squadron_store::{accept::Acceptance, cluster::agent::Beat, desired::DesiredRow};
use tokio::time::{Instant, sleep_until};
use tokio_stream::StreamExt as _;
use tonic::Streaming;

use super::{
    Down, LinkService,
    desired::{Desired, Look},
    guest::Guest,
    hello,
    leases::{self, Leases},
    stream::{End, HELLO_DEADLINE, Outbox, Session, out_of_order, serve},
    told::Teller,
};
use crate::clock;

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
    let beat = session.service.app.settings.heartbeat;
    let welcome = Welcome {
        heartbeat_every_ms: u64::try_from(beat.as_millis()).unwrap_or(u64::MAX),
        ..Welcome::default()
    };
    out.send(down(DownMessage::Welcome(welcome))).await?;
    tracing::info!(cluster = session.guest.name, epoch = session.epoch.0, "an agent is connected");
    let arrivals = session.service.told.to(session.guest.cluster);
    let lease = said.holds_leases.then(|| Leases::follow(&session));
    let (desired, quiet_after, heard) = (Desired::of(&said), beat * 4, Instant::now());
    let mut control = Control { session, arrivals, lease, desired, quiet_after, heard };
    control.converse(&mut up, out).await
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
    desired: Desired,
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
            let look_again = self.send_desired(out).await?;
            for news in self.arrivals.news() {
                out.send(down(DownMessage::Arrivals(news))).await?;
            }
            let try_again = Instant::now() + look_again.unwrap_or(self.quiet_after);
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
                self.accept(leases::accepted(&accept)).await;
                Ok(())
            }
            UpMessage::Resend(_) => {
                self.desired.begin_again();
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
            applied_generation: self.desired.applied(beat.desired_generation),
        });
        if let Some(lease) = &self.lease {
            lease.ask(beat);
        }
        out.send(down(DownMessage::HeartbeatReply(HeartbeatReply {
            number: beat.number,
            received_at_us: now.0,
        })))
        .await
    }

    /// The agent is ready to start attempts; the desired state says when that is committed.
    async fn accept(&self, attempts: Vec<AttemptId>) {
        let said = Acceptance { cluster: self.session.guest.cluster, epoch: self.session.epoch, attempts };
        self.session.service.accepts.take(said).await;
    }

    /// An agent that holds no leases starts what it gets, so whatever it may get counts as accepted.
    async fn accept_for_the_agent(&self) {
        let read = self.session.service.app.store.desired(self.session.guest.cluster).await;
        let open = |row: &DesiredRow| row.accepted_by.is_none() && !row.created;
        let rows = read.ok().filter(|read| !read.withheld).map(|read| read.set).unwrap_or_default();
        let offered: Vec<AttemptId> = rows.iter().filter(|row| open(row)).map(|row| row.id).collect();
        if !offered.is_empty() {
            self.accept(offered).await;
        }
    }

    /// Sends what comes next of the desired state, one message at most, so that heartbeats are heard between. Answers how long
    /// to wait at most before the next look; absent when nothing is left to send.
    async fn send_desired(&mut self, out: &Outbox<ControlDown>) -> Result<Option<Duration>, End> {
        if !self.desired.is_behind(&mut self.session) {
            return Ok(None);
        }
        let answers = self.lease.as_ref().map_or(0, Leases::committed);
        if self.lease.is_none() {
            self.accept_for_the_agent().await;
        }
        match self.desired.look(&self.session, answers).await {
            Look::Nothing => Ok(None),
            Look::Again => Ok(Some(Duration::ZERO)),
            Look::Unread => Ok(Some(TRY_AGAIN)),
            Look::Send(state) => {
                out.send(down(DownMessage::Desired(state))).await?;
                Ok(Some(Duration::ZERO))
            }
        }
    }
}
