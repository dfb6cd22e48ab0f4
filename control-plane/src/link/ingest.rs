//! The ingest stream: numbered records up, acknowledgements down, after the commit.
//!
//! Invariant: an acknowledgement says that everything up to it is committed. While the database is away the stream
//! stays, the batch in hand is tried again, and the transport holds the next ones back. Batches that come while others are being
//! committed share the next transaction; one that fails is committed alone.

use std::{sync::Arc, time::Duration};

use squadron_core::id::Epoch;
use squadron_proto::link::{
    Batch, Challenge, Gap, IngestDown, IngestUp, Nack, RecordClass, Watermark, Welcome,
    ingest_down::Message as DownMessage, ingest_up::Message as UpMessage, refused::Code,
};
use squadron_store::{
    StoreError,
    ingest::{self, Class, Payload, Taken},
};
use tokio_stream::StreamExt as _;
use tonic::Streaming;

use super::{
    Down, LinkService,
    guest::Guest,
    hello, records, refuse,
    stream::{End, HELLO_DEADLINE, Outbox, Session, out_of_order, serve},
};
use crate::{clock, state::AppState, together::Together, wake::Topic};

/// Bytes that an agent may have in flight without an acknowledgement.
const CREDIT: u64 = 8 * 1024 * 1024;
/// Pause before a batch is tried again while the database is away.
const TRY_AGAIN: Duration = Duration::from_millis(250);
/// Longest reason of a gap that is kept, in bytes.
const REASON_LIMIT: usize = 400;

/// A batch of no more bytes is unpacked at once. Another thread would cost more, and of the many that a fleet keeps busy each holds
/// memory of its own. At its worst, 4 MiB of one byte, it takes a few milliseconds.
const SMALL: usize = 4 * 1024;
/// Batches of one transaction; each is at most as long as its message.
const AT_ONCE: usize = 32;

/// Batches of all streams that come at the same time. Cheap to clone.
#[derive(Clone)]
pub struct Batches(Arc<Together<Arc<ingest::Batch>, Taken>>);

impl Default for Batches {
    fn default() -> Self {
        Batches(Arc::new(Together::new(AT_ONCE)))
    }
}

impl Batches {
    /// Commits the batch with others; nothing of it when that failed.
    async fn commit(&self, app: &AppState, batch: &Arc<ingest::Batch>) -> Option<Taken> {
        let app = app.clone();
        let work = move |batches: Vec<Arc<ingest::Batch>>| {
            let app = app.clone();
            async move {
                let all: Vec<&ingest::Batch> = batches.iter().map(Arc::as_ref).collect();
                let taken = app.store.ingest_all(&all).await;
                taken.inspect_err(|error| tracing::debug!(%error, "batches are committed one by one")).ok()
            }
        };
        self.0.ask(batch.clone(), work).await
    }
}

/// Starts the stream's task; the answer is what it sends.
pub fn open(service: LinkService, guest: Guest, up: Streaming<IngestUp>) -> Down<IngestDown> {
    let last = |refused| down(DownMessage::Refused(refused));
    serve("ingest", last, |out| async move { run(service, guest, up, &out).await })
}

fn down(message: DownMessage) -> IngestDown {
    IngestDown { message: Some(message) }
}

async fn run(
    service: LinkService,
    guest: Guest,
    mut up: Streaming<IngestUp>,
    out: &Outbox<IngestDown>,
) -> Result<(), End> {
    let nonce = hello::nonce();
    out.send(down(DownMessage::Challenge(Challenge { nonce: nonce.to_vec().into() }))).await?;
    let first = tokio::time::timeout(HELLO_DEADLINE, next(&mut up)).await.map_err(|_late| End::Gone)??;
    let UpMessage::Hello(said) = first else { return Err(out_of_order("it must begin with a hello")) };
    let session = Session::begin(service, guest, &nonce, &said).await?;
    let mut ingest = Ingest { session };
    out.send(down(DownMessage::Welcome(ingest.welcome().await?))).await?;
    loop {
        tokio::select! {
            message = next(&mut up) => ingest.hear(message?, out).await?,
            news = ingest.session.news() => news?,
        }
        ingest.session.check_standing()?;
    }
}

async fn next(up: &mut Streaming<IngestUp>) -> Result<UpMessage, End> {
    match up.next().await {
        Some(Ok(message)) => message.message.ok_or_else(|| out_of_order("a message is empty")),
        Some(Err(_)) | None => Err(End::Gone),
    }
}

struct Ingest {
    session: Session,
}

impl Ingest {
    /// What is committed already, so that the agent starts behind it.
    async fn welcome(&self) -> Result<Welcome, End> {
        let watermarks =
            self.session.service.app.store.watermarks(self.session.guest.cluster).await.map_err(|error| {
                tracing::warn!(%error, "watermarks could not be read");
                End::Refused(refuse::refused(
                    Code::Drain,
                    "the database cannot be reached at the moment",
                    1_000,
                ))
            })?;
        let watermarks =
            watermarks.into_iter().map(|mark| watermark(mark.epoch, mark.class, mark.seq)).collect();
        Ok(Welcome { credit_bytes: CREDIT, watermarks, ..Welcome::default() })
    }

    async fn hear(&mut self, message: UpMessage, out: &Outbox<IngestDown>) -> Result<(), End> {
        match message {
            UpMessage::Batch(batch) => self.batch(batch, out).await,
            UpMessage::Gap(gap) => self.gap(gap, out).await,
            UpMessage::FreshToken(token) => self.session.renew(token).await,
            UpMessage::Hello(_) => Err(out_of_order("a second hello")),
        }
    }

    async fn batch(&mut self, batch: Batch, out: &Outbox<IngestDown>) -> Result<(), End> {
        let batch = Arc::new(self.unpack(batch).await?);
        let service = &self.session.service;
        let taken = match service.batches.commit(&service.app, &batch).await {
            Some(taken) => taken,
            None => self.commit_alone(&batch).await?,
        };
        if matches!(taken, Taken::Committed { .. }) {
            self.tell(&batch);
        }
        self.answer(batch.epoch, batch.class, taken, out).await
    }

    async fn commit_alone(&mut self, batch: &ingest::Batch) -> Result<Taken, End> {
        loop {
            match self.session.service.app.store.ingest(batch).await {
                Ok(taken) => return Ok(taken),
                Err(error) => self.wait_out(&error).await?,
            }
        }
    }

    async fn unpack(&self, batch: Batch) -> Result<ingest::Batch, End> {
        let (epoch, first, code) = (Epoch(batch.epoch), batch.first_seq, batch.class);
        let read = if batch.zstd.len() <= SMALL {
            records::read(&batch)
        } else {
            let read = tokio::task::spawn_blocking(move || records::read(&batch)).await;
            read.map_err(|_panicked| out_of_order("a batch could not be read"))?
        };
        let records = read.map_err(|bad| out_of_order(&bad.to_string()))?;
        Ok(ingest::Batch {
            cluster: self.session.guest.cluster,
            stream_epoch: self.session.epoch,
            epoch,
            class: records::class(code).map_err(|bad| out_of_order(&bad.to_string()))?,
            first,
            records,
            now: clock::now(),
        })
    }

    async fn gap(&mut self, gap: Gap, out: &Outbox<IngestDown>) -> Result<(), End> {
        let class = records::class(gap.class).map_err(|bad| out_of_order(&bad.to_string()))?;
        let lost = ingest::Lost {
            cluster: self.session.guest.cluster,
            stream_epoch: self.session.epoch,
            epoch: Epoch(gap.epoch),
            class,
            first: gap.first_seq,
            last: gap.last_seq,
            reason: gap.reason.replace('\0', "").chars().take(REASON_LIMIT).collect(),
            now: clock::now(),
        };
        let taken = loop {
            match self.session.service.app.store.pass_over(&lost).await {
                Ok(taken) => break taken,
                Err(error) => self.wait_out(&error).await?,
            }
        };
        self.answer(lost.epoch, class, taken, out).await
    }

    /// The database is away or busy: the same again in a moment, unless the stream must end. Anything else is our fault,
    /// and the agent keeps its records.
    async fn wait_out(&mut self, error: &StoreError) -> Result<(), End> {
        match error {
            StoreError::Unavailable(_) | StoreError::Contended(_) => {
                tracing::warn!(%error, cluster = self.session.guest.name, "records wait for the database");
            }
            _ => {
                let error = crate::http::error::chain(error);
                tracing::error!(error, cluster = self.session.guest.name, "records could not be committed");
                return Err(End::Refused(refuse::refused(
                    Code::Unspecified,
                    "records could not be committed",
                    5_000,
                )));
            }
        }
        self.session.pause(TRY_AGAIN).await
    }

    async fn answer(
        &self,
        epoch: Epoch,
        class: Class,
        taken: Taken,
        out: &Outbox<IngestDown>,
    ) -> Result<(), End> {
        match taken {
            Taken::Committed { watermark: seq, refused } => {
                for (seq, reason) in refused {
                    tracing::warn!(
                        cluster = self.session.guest.name,
                        epoch = epoch.0,
                        seq,
                        reason,
                        "put a record aside"
                    );
                    let nack = Nack { epoch: epoch.0, class: wire(class).into(), seq, reason };
                    out.send(down(DownMessage::Nack(nack))).await?;
                }
                out.send(down(DownMessage::Ack(watermark(epoch, class, seq)))).await
            }
            Taken::Gap { watermark } => Err(out_of_order(&format!("records after {watermark} are missing"))),
            Taken::Malformed => Err(out_of_order("the numbers of a batch are out of range")),
            Taken::Fenced => {
                let refused = hello::superseded(self.session.epoch);
                Err(End::Refused(refused))
            }
        }
    }

    /// Wakes those who wait for what was committed.
    fn tell(&self, batch: &ingest::Batch) {
        let wake = &self.session.service.app.wake;
        match batch.class {
            Class::Fact => wake.notify(Topic::Facts),
            Class::Log => {
                wake.notify(Topic::Logs);
                let mut ends = std::collections::BTreeMap::new();
                for record in &batch.records {
                    if let Payload::Log(chunk) = &record.payload {
                        ends.insert(chunk.job, chunk.offset + chunk.data.len() as u64);
                    }
                }
                for (job, end) in ends {
                    wake.changed("log", job, i64::try_from(end).unwrap_or(i64::MAX));
                }
            }
        }
    }
}

fn wire(class: Class) -> RecordClass {
    match class {
        Class::Fact => RecordClass::Fact,
        Class::Log => RecordClass::Log,
    }
}

fn watermark(epoch: Epoch, class: Class, seq: u64) -> Watermark {
    Watermark { epoch: epoch.0, class: wire(class).into(), seq }
}
