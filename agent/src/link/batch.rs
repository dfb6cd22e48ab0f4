//! Batch: spooled records as messages of the ingest connection.
//!
//! Owns the packing. Invariant: a batch stays within the wire's limits, packed and unpacked; a payload that cannot be
//! read back is sent as an empty record, which the server puts aside.

use prost::Message as _;
use squadron_proto::link::{Batch, Gap, IngestUp, RecordClass, Records, ingest_up::Message as Up};

use crate::spool::{Chunk, Class, Record, Stream};

/// About how much goes into one batch, in bytes before packing.
pub const BATCH_BYTES: usize = 256 * 1024;
const ZSTD_LEVEL: i32 = 3;
const LOST: &str = "the agent's disk lost these records, or dropped log records because it was full";

/// A message and what it covers.
pub struct Packed {
    pub message: IngestUp,
    pub last: u64,
    pub bytes: u64,
}

/// The message for a chunk of a stream; `None` if the chunk holds nothing.
pub fn pack(stream: Stream, chunk: Chunk) -> std::io::Result<Option<Packed>> {
    match chunk {
        Chunk::Nothing => Ok(None),
        Chunk::Gap { first, last } => {
            let gap = Gap {
                epoch: stream.epoch,
                class: wire(stream.class).into(),
                first_seq: first,
                last_seq: last,
                reason: LOST.to_owned(),
            };
            Ok(Some(Packed { message: up(Up::Gap(gap)), last, bytes: 0 }))
        }
        Chunk::Records(records) => pack_records(stream, records),
    }
}

fn pack_records(stream: Stream, records: Vec<Record>) -> std::io::Result<Option<Packed>> {
    let (Some(first), Some(last)) = (records.first().map(|r| r.seq), records.last().map(|r| r.seq)) else {
        return Ok(None);
    };
    let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
    let plain = Records { records: records.into_iter().map(unfold).collect() }.encode_to_vec();
    let packed = zstd::encode_all(plain.as_slice(), ZSTD_LEVEL)?;
    let bytes = packed.len() as u64;
    let batch = Batch {
        epoch: stream.epoch,
        class: wire(stream.class).into(),
        first_seq: first,
        count,
        zstd: packed.into(),
    };
    Ok(Some(Packed { message: up(Up::Batch(batch)), last, bytes }))
}

fn unfold(record: Record) -> squadron_proto::link::Record {
    let mut unfolded = squadron_proto::link::Record::decode(record.payload.as_slice()).unwrap_or_default();
    unfolded.seq = record.seq;
    unfolded.observed_at_us = record.at.0;
    unfolded
}

fn up(message: Up) -> IngestUp {
    IngestUp { message: Some(message) }
}

/// The class on the wire.
pub fn wire(class: Class) -> RecordClass {
    match class {
        Class::Fact => RecordClass::Fact,
        Class::Log => RecordClass::Log,
    }
}

/// The class of a number on the wire.
pub fn class(code: i32) -> Option<Class> {
    u8::try_from(code).ok().and_then(Class::from_code)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use squadron_core::time::Timestamp;
    use squadron_proto::link::record::Payload;

    const STREAM: Stream = Stream { epoch: 2, class: Class::Fact };

    #[test]
    fn records_are_numbered_anew_from_the_spool() {
        let wire = squadron_proto::link::Record { payload: Some(Payload::Fact("{}".into())), ..Default::default() };
        let payload = wire.encode_to_vec();
        let records = [7, 8].map(|seq| Record { stream: STREAM, seq, at: Timestamp(5), payload: payload.clone() });
        let packed = pack(STREAM, Chunk::Records(records.to_vec())).unwrap().unwrap();
        let Some(Up::Batch(batch)) = packed.message.message else { panic!("no batch") };
        assert_eq!((batch.first_seq, batch.count, packed.last), (7, 2, 8));
        let plain = Records::decode(zstd::decode_all(batch.zstd.as_ref()).unwrap().as_slice()).unwrap();
        assert_eq!((plain.records[1].seq, plain.records[1].observed_at_us), (8, 5));
    }

    #[test]
    fn a_gap_says_what_is_lost() {
        let packed = pack(STREAM, Chunk::Gap { first: 3, last: 9 }).unwrap().unwrap();
        let Some(Up::Gap(gap)) = packed.message.message else { panic!("no gap") };
        assert_eq!((gap.first_seq, gap.last_seq, packed.bytes), (3, 9, 0));
    }
}
