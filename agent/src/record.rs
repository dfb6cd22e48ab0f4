//! Recorder: puts facts and log chunks into the spool as records.

use prost::Message as _;
use squadron_core::{fact::Fact, time::Timestamp};
use squadron_proto::link::LogChunk;

use crate::{
    clock,
    logs::Chunk,
    spool::{Class, Spool, Unnumbered},
};

/// Name of the driver's log among an attempt's streams.
const DRIVER: &str = "driver";

/// Writes into one spool. Cheap to clone.
#[derive(Clone)]
pub struct Recorder(Spool);

impl Recorder {
    pub fn new(spool: Spool) -> Recorder {
        Recorder(spool)
    }

    /// Queues a fact; waits only while the queue is full. False when the spool ended.
    pub async fn fact(&self, at: Timestamp, fact: &Fact) -> bool {
        match fact_record(at, fact) {
            Some(record) => self.0.put(record).await.is_ok(),
            None => true,
        }
    }

    /// True once the fact is on the disk.
    pub async fn fact_durable(&self, at: Timestamp, fact: Fact) -> bool {
        match fact_record(at, &fact) {
            Some(record) => self.0.put_durable(record).await.is_ok(),
            None => true,
        }
    }

    /// True once the chunk is on the disk, or was given up because the disk is full.
    pub async fn log_durable(&self, chunk: Chunk) -> bool {
        let chunk = LogChunk {
            job_id: chunk.attempt.job.to_string(),
            attempt: chunk.attempt.number,
            stream: DRIVER.to_owned(),
            offset: chunk.offset,
            data: chunk.data.into(),
        };
        let record = Unnumbered { class: Class::Log, at: clock::now(), payload: chunk.encode_to_vec() };
        self.0.put_durable(record).await.is_ok()
    }
}

fn fact_record(at: Timestamp, fact: &Fact) -> Option<Unnumbered> {
    match serde_json::to_vec(fact) {
        Ok(payload) => Some(Unnumbered { class: Class::Fact, at, payload }),
        Err(error) => {
            tracing::error!(%error, kind = fact.kind(), "a fact cannot be written");
            None
        }
    }
}
