//! The control connection: heartbeats up, desired states down.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use squadron_core::{
    desired::{Heard, Receiver},
    id::AttemptId,
};
use squadron_proto::link::{
    Accept, AttemptRef, ControlDown, ControlUp, DesiredState, Heartbeat, Hello, Lease as Promise, Resend,
    control_down::Message as Down, control_up::Message as Up,
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::{
    Ends, LinkError, Peer, desired,
    peer::{chain, refusal},
    token::Token,
};
use crate::{arrivals::hear, clock, plan::DesiredAttempt};

const OPENING: Duration = Duration::from_secs(10);
/// Opening gets at least this long, however little is left of the lease.
const HASTE: Duration = Duration::from_secs(3);
const OUTBOX: usize = 16;
/// Attempts that one message accepts; the rest follows with the next.
const MOST_ACCEPTED: usize = 500;

/// Generation of the newest desired state that was applied.
#[derive(Clone, Default)]
pub struct Applied(Arc<AtomicU64>);

impl Applied {
    pub fn set(&self, generation: u64) {
        self.0.store(generation, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Conversation<'a> {
    peer: &'a Peer,
    ends: &'a Ends,
    up: mpsc::Sender<ControlUp>,
    down: Streaming<ControlDown>,
    token: Token,
    desired: Receiver<DesiredAttempt>,
}

/// One connection, from dialling to its end.
pub async fn converse(peer: &Peer, ends: &Ends) -> LinkError {
    let opened = timeout(OPENING.min(ends.longest_pause().max(HASTE)), open(peer, ends)).await;
    match opened {
        Ok(Ok((mut conversation, every))) => {
            tracing::info!("the control connection stands");
            conversation.hold(pace(ends.heartbeat, every)).await
        }
        Ok(Err(error)) => error,
        Err(_late) => LinkError::Silent,
    }
}

async fn open<'a>(peer: &'a Peer, ends: &'a Ends) -> Result<(Conversation<'a>, Duration), LinkError> {
    peer.refresh_keys().await;
    let mut line = peer.dial().await?;
    let (up, outgoing) = mpsc::channel(OUTBOX);
    let request = peer.request(&line.token, ReceiverStream::new(outgoing))?;
    let down = line.client.control(request).await.map_err(|status| failed(&status))?.into_inner();
    let mut conversation =
        Conversation { peer, ends, up, down, token: line.token, desired: Receiver::default() };
    let Down::Challenge(challenge) = conversation.next().await? else { return Err(out_of_order()) };
    let accepted_generation = ends.desired.borrow().as_ref().map_or(0, |known| known.generation);
    let hello = peer.hello(&challenge.nonce, &conversation.token, Vec::new());
    let hello = Hello { accepted_generation, takes_changes: true, ..hello };
    conversation.send(Up::Hello(hello)).await?;
    let Down::Welcome(welcome) = conversation.next().await? else { return Err(out_of_order()) };
    Ok((conversation, Duration::from_millis(welcome.heartbeat_every_ms.clamp(200, 300_000))))
}

/// The time between heartbeats. An installation may ask for more heartbeats than the control plane, never for fewer: the
/// control plane ends a stream on which it misses some of its own.
fn pace(wanted: Option<Duration>, every: Duration) -> Duration {
    wanted.map_or(every, |wanted| wanted.min(every))
}

impl Conversation<'_> {
    async fn hold(&mut self, every: Duration) -> LinkError {
        let mut beats = interval(every);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard, mut accepts) = (Instant::now(), self.ends.accepts.clone());
        loop {
            let done = tokio::select! {
                _ = beats.tick() => self.beat().await,
                Ok(()) = accepts.changed() => self.accept().await,
                message = self.next() => match message {
                    Ok(message) => {
                        heard = Instant::now();
                        self.hear(message).await
                    }
                    Err(error) => Err(error),
                },
            };
            if let Err(error) = done {
                return error;
            }
            if heard.elapsed() > every * 3 {
                return LinkError::Silent;
            }
        }
    }

    async fn beat(&mut self) -> Result<(), LinkError> {
        if self.token.renew_at().is_some_and(|at| at <= clock::now()) {
            self.token = self.peer.fresh_token().await?;
            self.send(Up::FreshToken(self.token.secret().to_owned())).await?;
        }
        self.accept().await?;
        if self.desired.is_lost() || self.ends.lease.is_outlived() {
            self.send(Up::Resend(Resend {})).await?;
        }
        let load = self.ends.spool.load();
        let beat = Heartbeat {
            number: self.ends.lease.send(clock::tick()),
            sent_at_us: clock::now().0,
            desired_generation: self.ends.applied.get(),
            spool_bytes: load.bytes,
            spool_records: load.records,
            renewals: Some(self.ends.lease.noted()),
        };
        self.send(Up::Heartbeat(beat)).await
    }

    /// Says which attempts could start.
    async fn accept(&self) -> Result<(), LinkError> {
        let accepts = self.ends.accepts.borrow().clone();
        if accepts.is_empty() {
            return Ok(());
        }
        let name =
            |attempt: &AttemptId| AttemptRef { job_id: attempt.job.to_string(), number: attempt.number };
        let attempts = accepts.iter().take(MOST_ACCEPTED).map(name).collect();
        self.send(Up::Accept(Accept { attempts })).await
    }

    async fn hear(&mut self, message: Down) -> Result<(), LinkError> {
        match message {
            Down::Desired(state) => return self.hear_desired(state).await,
            Down::Lease(promise) => return self.hear_promise(&promise),
            Down::Arrivals(said) => self.ends.pictures.send_modify(|pictures| hear(pictures, said)),
            _ => {}
        }
        Ok(())
    }

    fn hear_promise(&self, promise: &Promise) -> Result<(), LinkError> {
        if self.ends.lease.promised(promise) { Ok(()) } else { Err(outlived()) }
    }

    async fn hear_desired(&mut self, state: DesiredState) -> Result<(), LinkError> {
        let (answers, timeline) = (state.answers, state.timeline);
        if !self.ends.lease.obeys(timeline) {
            return Err(outlived());
        }
        let known = self.ends.desired.borrow().clone();
        match self.desired.hear(desired::part(state), known.as_ref()) {
            Heard::Waits => {}
            Heard::Older => tracing::warn!("an older desired state came; it is not applied"),
            Heard::Lost(why) => {
                tracing::warn!(why, "the whole desired state is asked for again");
                self.send(Up::Resend(Resend {})).await?;
            }
            Heard::Holds(held) => {
                self.ends.desired.send_if_modified(|known| {
                    self.ends.lease.desired(held.generation, answers, timeline);
                    let news = known.as_ref() != Some(&held);
                    *known = Some(held);
                    news
                });
            }
        }
        Ok(())
    }

    async fn send(&self, message: Up) -> Result<(), LinkError> {
        let message = ControlUp { message: Some(message) };
        timeout(OPENING, self.up.send(message))
            .await
            .map_err(|_| LinkError::Silent)?
            .map_err(|_| LinkError::Ended)
    }

    async fn next(&mut self) -> Result<Down, LinkError> {
        match self.down.message().await {
            Ok(Some(ControlDown { message: Some(Down::Refused(refused)) })) => Err(refusal(refused)),
            Ok(Some(ControlDown { message: Some(message) })) => Ok(message),
            Ok(Some(ControlDown { message: None })) => Err(out_of_order()),
            Ok(None) => Err(LinkError::Ended),
            Err(status) => Err(failed(&status)),
        }
    }
}

pub fn failed(status: &tonic::Status) -> LinkError {
    let cause = if status.message().is_empty() { chain(status) } else { status.message().to_owned() };
    LinkError::Failed { step: "keep the stream", cause }
}

/// Another control plane works on the database that took over; a new connection may find it.
fn outlived() -> LinkError {
    let message = "the control plane works on a database that another one has taken over from; if that was upgraded or \
                   restored, restart this agent";
    LinkError::Refused(message.to_owned())
}

pub fn out_of_order() -> LinkError {
    LinkError::Refused("the control plane's messages came out of order".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_comes_never_later_than_the_control_plane_expects() {
        let seconds = Duration::from_secs;
        assert_eq!(pace(None, seconds(10)), seconds(10));
        assert_eq!(pace(Some(seconds(2)), seconds(10)), seconds(2));
        assert_eq!(pace(Some(seconds(60)), seconds(10)), seconds(10));
    }
}
