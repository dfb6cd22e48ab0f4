//! What control and ingest streams have in common: the challenge, the end of the token, the standing, the last word.

use std::time::Duration;

use squadron_core::id::Epoch;
use squadron_proto::link::{Hello, Refused, refused::Code};
use tokio::{sync::mpsc, time::Instant};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{
    Down, LinkService,
    guest::{self, Guest},
    hello, refuse,
    registry::Follow,
    seats::Seat,
};
use crate::{auth::agent_token::BearerToken, clock};

/// From the challenge to the hello.
pub const HELLO_DEADLINE: Duration = Duration::from_secs(5);
/// A peer that reads nothing for this long is gone.
const WRITE_STALL: Duration = Duration::from_secs(10);
/// Messages that wait for a peer to read them.
const OUTBOX: usize = 16;
/// Leeway after the token's end.
const LEEWAY_MS: i64 = 30_000;
/// Agents come back spread over this time when we stop.
const DRAIN_SPREAD_MS: u64 = 4_000;

/// Why a stream ends.
pub enum End {
    /// The peer closed it, or reads no more.
    Gone,
    /// We close it, with this last message.
    Refused(Refused),
}

/// The way down to one agent.
pub struct Outbox<T>(mpsc::Sender<Result<T, Status>>);

/// Starts a stream's task; the answer is what it sends. If we end the stream, `last` makes its last message.
pub fn serve<T: Send + 'static, F>(
    name: &'static str,
    last: fn(Refused) -> T,
    run: impl FnOnce(Outbox<T>) -> F,
) -> Down<T>
where
    F: Future<Output = Result<(), End>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(OUTBOX);
    let running = run(Outbox(sender.clone()));
    tokio::spawn(async move {
        if let Err(End::Refused(refused)) = running.await {
            tracing::info!(stream = name, code = refused.code, message = refused.message, "closing a stream");
            // The peer may be gone; then nobody needs the last word.
            let _told = Outbox(sender).send(last(refused)).await;
        }
    });
    Box::pin(ReceiverStream::new(receiver))
}

impl<T> Outbox<T> {
    pub async fn send(&self, message: T) -> Result<(), End> {
        match tokio::time::timeout(WRITE_STALL, self.0.send(Ok(message))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}

/// A welcomed agent on one stream.
pub struct Session {
    pub service: LinkService,
    pub guest: Guest,
    pub epoch: Epoch,
    follow: Follow,
    token_ends: Instant,
    _seat: Seat,
}

impl Session {
    /// Judges the hello; the guest becomes an agent.
    pub async fn begin(
        service: LinkService,
        guest: Guest,
        nonce: &[u8; 32],
        said: &Hello,
    ) -> Result<Session, End> {
        let epoch = hello::receive(&service.app, &guest, nonce, said).await.map_err(End::Refused)?;
        let seat = service.seats.take(guest.cluster).ok_or_else(crowded)?;
        let follow = service.registry.follow(guest.cluster);
        let token_ends = end_of(&guest);
        Ok(Session { service, guest, epoch, follow, token_ends, _seat: seat })
    }

    /// Returns when some standing changed, or with the end when the stream must end by itself.
    pub async fn news(&mut self) -> Result<(), End> {
        let Session { service, guest, follow, token_ends, .. } = self;
        tokio::select! {
            () = follow.changed() => Ok(()),
            end = overdue(service, guest, *token_ends) => Err(end),
        }
    }

    /// Waits, unless the stream must end before.
    pub async fn pause(&self, time: Duration) -> Result<(), End> {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(()),
            end = overdue(&self.service, &self.guest, self.token_ends) => Err(end),
        }
    }

    /// Generation of the set that the cluster should hold, as last read; absent before the first read.
    pub fn desired_generation(&mut self) -> Option<u64> {
        self.follow.now().map(|standing| standing.desired_generation)
    }

    /// Whether the cluster's standing still allows this stream. Standings older than our hello say nothing.
    pub fn check_standing(&mut self) -> Result<(), End> {
        let Some(standing) = self.follow.now() else { return Ok(()) };
        if !standing.active {
            let refused = refuse::refused(Code::NotAccepted, "the cluster was revoked", 60_000);
            return Err(End::Refused(refused));
        }
        if standing.epoch > self.epoch {
            return Err(End::Refused(hello::superseded(standing.epoch)));
        }
        Ok(())
    }

    /// Takes a fresh token for the old one: same cluster, same pod, all checks again.
    pub async fn renew(&mut self, token: String) -> Result<(), End> {
        let checked = guest::check(&self.service.app, self.guest.cluster, &BearerToken::new(token)).await;
        match checked {
            Ok((_, proven)) if proven.pod_uid == self.guest.proven.pod_uid => {
                self.guest.proven = proven;
                self.token_ends = end_of(&self.guest);
                Ok(())
            }
            Ok(_) => {
                refuse::note(
                    &self.service.app,
                    Some(self.guest.cluster),
                    "the fresh token is of another pod",
                )
                .await;
                Err(unauthenticated())
            }
            // The database is away: the old token holds until its end, and the agent sends another before that.
            Err(status) if status.code() == tonic::Code::Unavailable => Ok(()),
            Err(_refused) => Err(unauthenticated()),
        }
    }
}

/// Returns when no fresh token came in time, or when we stop.
async fn overdue(service: &LinkService, guest: &Guest, token_ends: Instant) -> End {
    let refused = tokio::select! {
        () = service.stop.cancelled() => {
            let wait = 1_000 + rand::random_range(0..DRAIN_SPREAD_MS);
            refuse::refused(Code::Drain, "the control plane restarts", wait)
        }
        () = tokio::time::sleep_until(token_ends) => {
            refuse::note(&service.app, Some(guest.cluster), "no fresh token came before the old one ended").await;
            refuse::refused(Code::Unauthenticated, "the token ended and no fresh one came", 0)
        }
    };
    End::Refused(refused)
}

fn crowded() -> End {
    End::Refused(refuse::refused(Code::Drain, "the cluster holds too many connections already", 5_000))
}

fn unauthenticated() -> End {
    End::Refused(refuse::refused(Code::Unauthenticated, refuse::OUTWARD, 30_000))
}

fn end_of(guest: &Guest) -> Instant {
    let left = guest.proven.expires_at.plus_millis(LEEWAY_MS).millis_since(clock::now());
    Instant::now() + Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

/// A message that makes no sense where it came.
pub fn out_of_order(what: &str) -> End {
    End::Refused(refuse::refused(Code::Unspecified, format!("the stream is out of order: {what}"), 1_000))
}
