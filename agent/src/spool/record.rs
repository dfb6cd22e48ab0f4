//! Record: how one record lies in a segment file.
//!
//! Owns the frame: length, CRC32C of all that follows it, epoch, class, number, time, payload; integers big-endian.
//! Invariant: whatever bytes are read, decoding answers a record that was written whole, or nothing; it never panics
//! and never allocates more than [`PAYLOAD_LIMIT`].

use squadron_core::time::Timestamp;

/// Greatest payload, in bytes; a batch of one record must fit the ingest connection.
pub const PAYLOAD_LIMIT: usize = 900 * 1024;
/// Bytes of a frame around its payload.
pub const OVERHEAD: usize = LENGTH + CHECKSUM + HEAD;
const LENGTH: usize = 4;
const CHECKSUM: usize = 4;
/// Epoch, class, number, time.
const HEAD: usize = 8 + 1 + 8 + 8;

/// The classes of records; each is numbered on its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    Fact,
    Log,
}

impl Class {
    pub const ALL: [Class; 2] = [Class::Fact, Class::Log];

    /// The number of the class on the wire and on disk.
    pub fn code(self) -> u8 {
        match self {
            Class::Fact => 1,
            Class::Log => 2,
        }
    }

    pub fn from_code(code: u8) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.code() == code)
    }

    /// The word in file names and logs.
    pub fn word(self) -> &'static str {
        match self {
            Class::Fact => "fact",
            Class::Log => "log",
        }
    }

    pub fn from_word(word: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.word() == word)
    }
}

/// The numbering that a record belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stream {
    pub epoch: u64,
    pub class: Class,
}

/// One record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub stream: Stream,
    /// Counts from 1 within its stream.
    pub seq: u64,
    /// When it was observed, by this machine's clock.
    pub at: Timestamp,
    pub payload: Vec<u8>,
}

impl Record {
    /// Bytes that the record takes in a file.
    pub fn framed_len(&self) -> usize {
        OVERHEAD + self.payload.len()
    }

    /// Appends the record's frame to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(HEAD + self.payload.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_be_bytes());
        let checksum_at = out.len();
        out.extend_from_slice(&[0; CHECKSUM]);
        out.extend_from_slice(&self.stream.epoch.to_be_bytes());
        out.push(self.stream.class.code());
        out.extend_from_slice(&self.seq.to_be_bytes());
        out.extend_from_slice(&self.at.0.to_be_bytes());
        out.extend_from_slice(&self.payload);
        let body = &out[checksum_at + CHECKSUM..];
        let checksum = crc32c::crc32c(&[&length.to_be_bytes(), body].concat());
        out[checksum_at..checksum_at + CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    }

    /// The record at the start of `bytes`, if a whole and undamaged one lies there.
    pub fn decode(bytes: &[u8]) -> Option<Record> {
        let (length, rest) = bytes.split_first_chunk::<LENGTH>()?;
        let (checksum, rest) = rest.split_first_chunk::<CHECKSUM>()?;
        let size = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        if !(HEAD..=HEAD + PAYLOAD_LIMIT).contains(&size) {
            return None;
        }
        let body = rest.get(..size)?;
        let sum = crc32c::crc32c_append(crc32c::crc32c(length), body);
        (sum == u32::from_be_bytes(*checksum)).then(|| Record::parse(body)).flatten()
    }

    fn parse(body: &[u8]) -> Option<Record> {
        let (epoch, rest) = body.split_first_chunk::<8>()?;
        let (class, rest) = rest.split_first()?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (at, payload) = rest.split_first_chunk::<8>()?;
        Some(Record {
            stream: Stream { epoch: u64::from_be_bytes(*epoch), class: Class::from_code(*class)? },
            seq: u64::from_be_bytes(*seq),
            at: Timestamp(i64::from_be_bytes(*at)),
            payload: payload.to_vec(),
        })
    }
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    pub fn record(seq: u64, payload: &[u8]) -> Record {
        let stream = Stream { epoch: 3, class: Class::Fact };
        Record { stream, seq, at: Timestamp(7), payload: payload.to_vec() }
    }

    proptest! {
        #[test]
        fn a_record_survives_a_round_trip(seq: u64, at: i64, epoch: u64, payload: Vec<u8>) {
            let stream = Stream { epoch, class: Class::Log };
            let record = Record { stream, seq, at: Timestamp(at), payload };
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            prop_assert_eq!(bytes.len(), record.framed_len());
            prop_assert_eq!(Record::decode(&bytes), Some(record));
        }

        #[test]
        fn a_flipped_bit_or_a_cut_is_never_taken(payload: Vec<u8>, at: prop::sample::Index, bit in 0_u8..8) {
            let mut bytes = Vec::new();
            record(1, &payload).encode(&mut bytes);
            let position = at.index(bytes.len());
            prop_assert_eq!(Record::decode(&bytes[..position]), None);
            bytes[position] ^= 1 << bit;
            prop_assert_eq!(Record::decode(&bytes), None);
        }

        #[test]
        fn noise_never_panics(bytes: Vec<u8>) {
            let _ = Record::decode(&bytes);
        }
    }
}
