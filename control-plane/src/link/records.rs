//! Batches of records: unpacked within a limit, read one by one.
//!
//! Invariant: a batch that breaks the frame (too large, badly compressed, wrongly numbered) is refused as a whole; a
//! record that breaks only itself becomes a rejected record with a reason.

use std::io::Read as _;

use prost::Message as _;
use serde_json::Value;
use squadron_core::{fact::Fact, time::Timestamp};
use squadron_proto::{
    BATCH_LIMIT,
    link::{Batch, LogChunk, Record, Records, record::Payload as WirePayload},
};
use squadron_store::ingest::{Chunk, Class, Payload, Record as StoreRecord};

/// Greatest fact as JSON, in bytes.
const FACT_LIMIT: usize = 256 * 1024;
/// Greatest log chunk, in bytes.
const CHUNK_LIMIT: usize = 512 * 1024;
/// Records in one batch.
const RECORDS_LIMIT: usize = 10_000;
/// Log streams that exist.
const STREAMS: [&str; 1] = ["driver"];

/// Why a batch breaks the frame.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadBatch {
    #[error("a batch is not zstd, or longer than {BATCH_LIMIT} bytes unpacked")]
    Packing,
    #[error("a batch holds no records message")]
    Frame,
    #[error("a batch has no or too many records")]
    Count,
    #[error("the numbers of a batch are not contiguous")]
    Numbers,
    #[error("a batch is of no known class")]
    Class,
}

/// The class that a number on the wire stands for.
pub fn class(code: i32) -> Result<Class, BadBatch> {
    match code {
        1 => Ok(Class::Fact),
        2 => Ok(Class::Log),
        _ => Err(BadBatch::Class),
    }
}

/// Unpacks and reads a batch.
pub fn read(batch: &Batch) -> Result<Vec<StoreRecord>, BadBatch> {
    let class = class(batch.class)?;
    let records = Records::decode(unpack(&batch.zstd)?.as_slice()).map_err(|_| BadBatch::Frame)?.records;
    let expected = usize::try_from(batch.count).unwrap_or(usize::MAX);
    if records.is_empty() || records.len() > RECORDS_LIMIT || records.len() != expected {
        return Err(BadBatch::Count);
    }
    let in_order = (batch.first_seq..).zip(&records).all(|(number, record)| record.seq == number);
    if !in_order {
        return Err(BadBatch::Numbers);
    }
    Ok(records.into_iter().map(|record| read_one(record, class)).collect())
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>, BadBatch> {
    let decoder = zstd::stream::read::Decoder::new(packed).map_err(|_| BadBatch::Packing)?;
    let mut bytes = Vec::new();
    let limit = BATCH_LIMIT as u64 + 1;
    decoder.take(limit).read_to_end(&mut bytes).map_err(|_| BadBatch::Packing)?;
    if bytes.len() > BATCH_LIMIT { Err(BadBatch::Packing) } else { Ok(bytes) }
}

fn read_one(record: Record, class: Class) -> StoreRecord {
    let payload = match (record.payload, class) {
        (Some(WirePayload::Fact(text)), Class::Fact) => fact(&text),
        (Some(WirePayload::Log(log)), Class::Log) => chunk(log),
        (Some(_), _) => Err("the record is of another class than its batch".to_owned()),
        (None, _) => Err("the record is empty, or of a kind that this version does not know".to_owned()),
    };
    StoreRecord {
        observed_at: Timestamp(record.observed_at_us),
        payload: payload.unwrap_or_else(Payload::Rejected),
    }
}

fn fact(text: &str) -> Result<Payload, String> {
    if text.len() > FACT_LIMIT {
        return Err(format!("the fact is longer than {FACT_LIMIT} bytes"));
    }
    let unreadable = |error: serde_json::Error| format!("the fact cannot be read: {error}");
    let fact: Fact = if text.contains("\\u0000") {
        let mut value = serde_json::from_str(text).map_err(unreadable)?;
        replace_nul(&mut value);
        serde_json::from_value(value).map_err(unreadable)?
    } else {
        serde_json::from_str(text).map_err(unreadable)?
    };
    Ok(Payload::Fact(Box::new(fact)))
}

/// Replaces NUL, which Postgres cannot hold, in every text. What a driver printed must not keep the fact of its end out.
fn replace_nul(value: &mut Value) {
    match value {
        Value::String(text) => *text = text.replace('\0', "\u{fffd}"),
        Value::Array(values) => values.iter_mut().for_each(replace_nul),
        Value::Object(fields) => {
            for (name, mut value) in std::mem::take(fields) {
                replace_nul(&mut value);
                fields.insert(name.replace('\0', "\u{fffd}"), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn chunk(log: LogChunk) -> Result<Payload, String> {
    let job = log.job_id.parse().map_err(|_| "the log chunk's job id is no UUID".to_owned())?;
    if !STREAMS.contains(&log.stream.as_str()) {
        return Err("the log chunk is of an unknown stream".to_owned());
    }
    if log.data.is_empty() || log.data.len() > CHUNK_LIMIT {
        return Err(format!("the log chunk is empty or longer than {CHUNK_LIMIT} bytes"));
    }
    if log.offset.checked_add(log.data.len() as u64).is_none_or(|end| i64::try_from(end).is_err()) {
        return Err("the log chunk's offset is out of range".to_owned());
    }
    let chunk =
        Chunk { job, attempt: log.attempt, stream: log.stream, offset: log.offset, data: log.data.to_vec() };
    Ok(Payload::Log(chunk))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_proto::link::RecordClass;

    use super::*;

    fn pack(records: Vec<Record>) -> Batch {
        let count = u32::try_from(records.len()).unwrap();
        let bytes = Records { records }.encode_to_vec();
        Batch {
            epoch: 1,
            class: RecordClass::Fact.into(),
            first_seq: 1,
            count,
            zstd: zstd::encode_all(bytes.as_slice(), 1).unwrap().into(),
        }
    }

    fn record(seq: u64, text: &str) -> Record {
        Record { seq, observed_at_us: 5, payload: Some(WirePayload::Fact(text.to_owned())) }
    }

    const NODE: &str = r#"{"kind":"node","name":"n","uid":"u"}"#;

    fn reason(text: &str) -> String {
        let records = read(&pack(vec![record(1, text)])).unwrap();
        match &records[0].payload {
            Payload::Rejected(reason) => reason.clone(),
            other => panic!("{other:?} was taken"),
        }
    }

    #[test]
    fn a_bad_record_keeps_no_other_out() {
        let records = read(&pack(vec![record(1, NODE), record(2, "{}"), record(3, NODE)])).unwrap();
        assert!(matches!(&records[0].payload, Payload::Fact(_)));
        assert!(matches!(&records[1].payload, Payload::Rejected(_)));
        assert!(matches!(&records[2].payload, Payload::Fact(_)));
    }

    #[test]
    fn records_that_cannot_be_stored_are_refused_with_a_reason() {
        assert!(reason(r#"{"kind":"flying_saucer"}"#).contains("unknown variant"));
        let long = NODE.replace("\"n\"", &format!("\"{}\"", "n".repeat(FACT_LIMIT)));
        assert!(reason(&long).contains("longer than"));
        let mut deep = "[".repeat(500);
        deep.push_str(&"]".repeat(500));
        assert!(reason(&format!(r#"{{"kind":"node","name":{deep}}}"#)).contains("cannot be read"));
    }

    /// The texts of a RayJob fact whose message is `message` in JSON.
    fn message(message: &str) -> String {
        let text = format!(r#"{{"kind":"ray_job","name":"n","uid":"u","message":"{message}"}}"#);
        let records = read(&pack(vec![record(1, &text)])).unwrap();
        match &records[0].payload {
            Payload::Fact(fact) => match &**fact {
                Fact::RayJob(job) => job.message.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?} was not taken"),
        }
    }

    #[test]
    fn nul_is_replaced_and_its_spelling_is_text_like_any_other() {
        assert_eq!(message(r"a\u0000b"), "a\u{fffd}b");
        assert_eq!(message(r"a\\u0000b"), r"a\u0000b");
        assert_eq!(message(r"plain"), "plain");
        let inventory = r#"{"kind":"inventory","attempts":{"a\u0000":"b"}}"#;
        let records = read(&pack(vec![record(1, inventory)])).unwrap();
        assert!(matches!(&records[0].payload, Payload::Fact(_)), "{:?}", records[0].payload);
    }

    #[test]
    fn a56_a_bomb_is_refused_unpacked_only_to_the_limit() {
        let mut batch = pack(vec![record(1, NODE)]);
        batch.zstd = zstd::encode_all(vec![0_u8; 512 * 1024 * 1024].as_slice(), 1).unwrap().into();
        assert!(batch.zstd.len() < 256 * 1024);
        assert_eq!(read(&batch).unwrap_err(), BadBatch::Packing);
    }

    #[test]
    fn a_broken_frame_is_refused_as_a_whole() {
        let good = pack(vec![record(1, NODE), record(2, NODE)]);
        let with = |change: &dyn Fn(&mut Batch)| {
            let mut batch = good.clone();
            change(&mut batch);
            read(&batch).err()
        };
        assert_eq!(with(&|_| ()), None);
        assert_eq!(with(&|batch| batch.zstd = vec![1, 2, 3].into()), Some(BadBatch::Packing));
        assert_eq!(with(&|batch| batch.count = 3), Some(BadBatch::Count));
        assert_eq!(with(&|batch| batch.first_seq = 2), Some(BadBatch::Numbers));
        assert_eq!(with(&|batch| batch.class = 9), Some(BadBatch::Class));
        let wrong = pack(vec![record(1, NODE), record(3, NODE)]);
        assert_eq!(read(&wrong).unwrap_err(), BadBatch::Numbers);
        assert_eq!(read(&pack(vec![])).unwrap_err(), BadBatch::Count);
    }
}
