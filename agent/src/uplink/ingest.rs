//! The ingest connection: records up, acknowledgements down.
//!
//! Invariant: of each stream, records go up in order without holes (a hole is told as a gap), and the spool forgets
//! only what was acknowledged. Bytes in flight stay below the credit that the control plane gave. Few batches fly at a time, so
//! what comes one by one while the control plane commits goes up together.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use prost::Message as _;
use squadron_proto::link::{
    Batch, Gap, IngestDown, IngestUp, LogChunk, Nack, Record as WireRecord, RecordClass, Records, Watermark,
    Welcome, ingest_down::Message as Down, ingest_up::Message as Up, record::Payload,
};
use tokio::{sync::mpsc, task::block_in_place, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::{
    Ends, LinkError, Peer,
    control::{failed, out_of_order},
    peer::refusal,
    token::Token,
};
use crate::{
    clock,
    spool::{Chunk, Class, Reader, Record, Stream},
};

const OPENING: Duration = Duration::from_secs(10);
const OUTBOX: usize = 8;
/// Bytes of records in one batch, before compression.
const BATCH: usize = 512 * 1024;
const LEVEL: i32 = 1;
/// As many are packed where they are; another thread would cost more.
const SMALL: usize = 16 * 1024;
/// Batches in flight: one that is being committed, and the next.
const FLYING: usize = 2;
/// How often the token's age is looked at.
const LOOK: Duration = Duration::from_secs(5);

struct Sender<'a> {
    peer: &'a Peer,
    ends: &'a Ends,
    up: mpsc::Sender<IngestUp>,
    down: Streaming<IngestDown>,
    token: Token,
    credit: usize,
    readers: BTreeMap<Stream, Reader>,
    committed: BTreeMap<Stream, u64>,
    flying: BTreeMap<Stream, VecDeque<(u64, usize)>>,
}

/// One connection, from dialling to its end.
pub async fn send(peer: &Peer, ends: &Ends) -> LinkError {
    match timeout(OPENING, open(peer, ends)).await {
        Ok(Ok(mut sender)) => {
            tracing::info!("the ingest connection stands");
            match sender.run().await {
                Ok(never) => match never {},
                Err(error) => error,
            }
        }
        Ok(Err(error)) => error,
        Err(_late) => LinkError::Silent,
    }
}

async fn open<'a>(peer: &'a Peer, ends: &'a Ends) -> Result<Sender<'a>, LinkError> {
    let mut line = peer.dial().await?;
    let (up, outgoing) = mpsc::channel(OUTBOX);
    let request = peer.request(&line.token, ReceiverStream::new(outgoing))?;
    let down = line.client.ingest(request).await.map_err(|status| failed(&status))?.into_inner();
    let mut sender = Sender {
        peer,
        ends,
        up,
        down,
        token: line.token,
        credit: 0,
        readers: BTreeMap::new(),
        committed: BTreeMap::new(),
        flying: BTreeMap::new(),
    };
    let Some(Down::Challenge(challenge)) = sender.next().await?.message else { return Err(out_of_order()) };
    let mut epochs: Vec<u64> = ends.spool.streams().iter().map(|stream| stream.epoch).collect();
    epochs.dedup();
    let hello = peer.hello(&challenge.nonce, &sender.token, epochs);
    sender.put(Up::Hello(hello)).await?;
    let Some(Down::Welcome(welcome)) = sender.next().await?.message else { return Err(out_of_order()) };
    sender.begin(&welcome)?;
    Ok(sender)
}

enum Never {}

impl Sender<'_> {
    fn begin(&mut self, welcome: &Welcome) -> Result<(), LinkError> {
        self.credit = usize::try_from(welcome.credit_bytes).unwrap_or(usize::MAX).max(BATCH);
        welcome.watermarks.iter().try_for_each(|mark| self.acknowledge(mark))
    }

    async fn run(&mut self) -> Result<Never, LinkError> {
        let mut grown = self.ends.spool.grown();
        let mut look = tokio::time::interval(LOOK);
        loop {
            let more = self.may_send() && self.send_next().await?;
            if more {
                // Whatever came down meanwhile is heard before the next batch.
                if let Ok(message) = timeout(Duration::ZERO, self.down.message()).await {
                    self.hear(message)?;
                }
                continue;
            }
            tokio::select! {
                message = self.down.message() => self.hear(message)?,
                changed = grown.changed(), if self.may_send() => changed.map_err(|_| LinkError::Ended)?,
                _ = look.tick() => self.renew().await?,
            }
        }
    }

    fn may_send(&self) -> bool {
        let flying = || self.flying.values().flatten();
        flying().count() < FLYING && flying().map(|(_, bytes)| bytes).sum::<usize>() < self.credit
    }

    /// Sends what comes next in the first stream that has something. False when there is nothing.
    async fn send_next(&mut self) -> Result<bool, LinkError> {
        for stream in self.ends.spool.streams() {
            let after = self.committed.get(&stream).copied().unwrap_or(0);
            let spool = &self.ends.spool;
            let reader = self.readers.entry(stream).or_insert_with(|| spool.reader(stream, after));
            if !reader.is_behind() {
                continue;
            }
            match block_in_place(|| reader.read(BATCH)).map_err(LinkError::at("read the spool"))? {
                Chunk::Nothing => {}
                Chunk::Records(records) if records.is_empty() => return Ok(true),
                Chunk::Records(records) => return self.send_batch(stream, records).await.map(|()| true),
                Chunk::Gap { first, last } => return self.send_gap(stream, first, last).await.map(|()| true),
            }
        }
        Ok(false)
    }

    async fn send_batch(&mut self, stream: Stream, records: Vec<Record>) -> Result<(), LinkError> {
        let (first, last) = (records[0].seq, records[records.len() - 1].seq);
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        let bytes: usize = records.iter().map(Record::framed_len).sum();
        let packed = if bytes <= SMALL {
            pack(records)
        } else {
            let packed = tokio::task::spawn_blocking(move || pack(records)).await;
            packed.map_err(LinkError::at("pack a batch"))?
        };
        let zstd = packed.map_err(LinkError::at("pack a batch"))?;
        self.flying.entry(stream).or_default().push_back((last, zstd.len()));
        let class = class(stream.class).into();
        let batch = Batch { epoch: stream.epoch, class, first_seq: first, count, zstd: zstd.into() };
        self.put(Up::Batch(batch)).await
    }

    async fn send_gap(&mut self, stream: Stream, first: u64, last: u64) -> Result<(), LinkError> {
        self.flying.entry(stream).or_default().push_back((last, 0));
        let reason = match stream.class {
            Class::Fact => "the agent's disk lost these records",
            Class::Log => "the agent's disk was full or lost these records",
        };
        let class = class(stream.class).into();
        let gap =
            Gap { epoch: stream.epoch, class, first_seq: first, last_seq: last, reason: reason.to_owned() };
        self.put(Up::Gap(gap)).await
    }

    fn hear(&mut self, message: Result<Option<IngestDown>, tonic::Status>) -> Result<(), LinkError> {
        let message = message.map_err(|status| failed(&status))?.ok_or(LinkError::Ended)?;
        match message.message {
            Some(Down::Ack(mark)) => self.acknowledge(&mark),
            Some(Down::Nack(nack)) => {
                self.put_aside(&nack);
                Ok(())
            }
            Some(Down::Refused(refused)) => Err(refusal(refused)),
            _ => Err(out_of_order()),
        }
    }

    fn acknowledge(&mut self, mark: &Watermark) -> Result<(), LinkError> {
        let Some(stream) = stream(mark.epoch, mark.class) else { return Err(out_of_order()) };
        self.committed.insert(stream, mark.seq);
        if let Some(flying) = self.flying.get_mut(&stream) {
            while flying.front().is_some_and(|(last, _)| *last <= mark.seq) {
                flying.pop_front();
            }
        }
        let done = self.ends.spool.acknowledge(stream, mark.seq);
        if done.is_empty() {
            return Ok(());
        }
        block_in_place(|| self.ends.spool.remove(&done))
            .map_err(LinkError::at("delete what was acknowledged"))
    }

    /// A record that can never be taken. It may hold what a user's driver printed, so it goes into a file beside the
    /// spool for whoever looks for the fault, and the log says only where it came from and why.
    fn put_aside(&self, nack: &Nack) {
        let Nack { epoch, seq, reason, .. } = nack;
        tracing::error!(epoch, seq, reason, "the control plane refused a record for good");
        let Some(stream) = stream(*epoch, nack.class) else { return };
        if let Err(error) = block_in_place(|| self.ends.spool.put_aside(stream, *seq, reason)) {
            let cause = &error.cause;
            tracing::warn!(%error, %cause, epoch, seq, "a refused record is not kept");
        }
    }

    async fn renew(&mut self) -> Result<(), LinkError> {
        if self.token.renew_at().is_none_or(|at| at > clock::now()) {
            return Ok(());
        }
        self.token = self.peer.fresh_token().await?;
        self.put(Up::FreshToken(self.token.secret().to_owned())).await
    }

    /// The next message before the first batch.
    async fn next(&mut self) -> Result<IngestDown, LinkError> {
        match self.down.message().await {
            Ok(Some(IngestDown { message: Some(Down::Refused(refused)) })) => Err(refusal(refused)),
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(LinkError::Ended),
            Err(status) => Err(failed(&status)),
        }
    }

    async fn put(&self, message: Up) -> Result<(), LinkError> {
        self.up.send(IngestUp { message: Some(message) }).await.map_err(|_| LinkError::Ended)
    }
}

fn pack(records: Vec<Record>) -> std::io::Result<Vec<u8>> {
    let records = records.into_iter().map(wire).collect();
    zstd::bulk::compress(&Records { records }.encode_to_vec(), LEVEL)
}

/// A record whose payload cannot be read goes up without one, and the control plane puts it aside with a reason.
fn wire(record: Record) -> WireRecord {
    let payload = match record.stream.class {
        Class::Fact => String::from_utf8(record.payload).ok().map(Payload::Fact),
        Class::Log => LogChunk::decode(record.payload.as_slice()).ok().map(Payload::Log),
    };
    WireRecord { seq: record.seq, observed_at_us: record.at.0, payload }
}

fn class(class: Class) -> RecordClass {
    match class {
        Class::Fact => RecordClass::Fact,
        Class::Log => RecordClass::Log,
    }
}

fn stream(epoch: u64, class: i32) -> Option<Stream> {
    let class = match RecordClass::try_from(class).ok()? {
        RecordClass::Fact => Class::Fact,
        RecordClass::Log => Class::Log,
        RecordClass::Unspecified => return None,
    };
    Some(Stream { epoch, class })
}
