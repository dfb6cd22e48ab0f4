//! Logs: what drivers printed, in chunks by byte offset.
//!
//! Invariant: chunks may overlap (an agent that restarts reads again), and what is read back never repeats a byte. A
//! piece holds no hole: it ends where one begins, and the next piece starts behind it, so that offsets stay exact.

use std::collections::BTreeMap;

use sqlx::Row;
use squadron_core::id::{AttemptId, JobId};

use crate::{Result, Store, cluster::signed};

/// Greatest chunk that a record can carry, in bytes.
const CHUNK_LIMIT: i64 = 1024 * 1024;
/// Chunks in one read.
const CHUNKS: i64 = 32;

/// Bytes of a log and where they end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Piece {
    /// Offset of the first byte; the offset asked for when nothing follows it.
    pub start: u64,
    pub data: Vec<u8>,
    /// Offset to ask for next.
    pub end: u64,
}

impl Store {
    /// What follows `offset` in the attempt's log, up to some chunks; empty at its end.
    pub async fn log_piece(&self, attempt: AttemptId, stream: &str, offset: u64) -> Result<Piece> {
        let rows = sqlx::query(
            "select start_offset, data from log_chunk
             where job_id = $1 and attempt = $2 and stream = $3
               and start_offset > $4 - $5 and start_offset + length(data) > $4
             order by start_offset limit $6",
        )
        .bind(attempt.job.0)
        .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
        .bind(stream)
        .bind(signed(offset))
        .bind(CHUNK_LIMIT)
        .bind(CHUNKS)
        .fetch_all(self.pool())
        .await?;
        let mut chunks = Vec::with_capacity(rows.len());
        for row in &rows {
            let start: i64 = row.try_get("start_offset")?;
            chunks.push((u64::try_from(start).unwrap_or(0), row.try_get("data")?));
        }
        Ok(stitch(offset, &chunks))
    }

    /// The end of each of these logs, at most so many bytes; nothing of an attempt without a log.
    pub async fn log_ends(
        &self,
        attempts: &[AttemptId],
        stream: &str,
        bytes: u32,
    ) -> Result<BTreeMap<JobId, Vec<u8>>> {
        let rows = sqlx::query(
            "select e.job_id, greatest(c.start_offset, e.from_offset) as start_offset,
                    substring(c.data from greatest(1, e.from_offset - c.start_offset + 1)::integer) as data
             from unnest($1::uuid[], $2::integer[]) as k (job_id, attempt)
             join lateral (select k.job_id, start_offset + length(data) - $4 as from_offset from log_chunk
                           where job_id = k.job_id and attempt = k.attempt and stream = $3
                           order by start_offset desc limit 1) e on true
             join log_chunk c on c.job_id = k.job_id and c.attempt = k.attempt and c.stream = $3
                  and c.start_offset > e.from_offset - $5 and c.start_offset + length(c.data) > e.from_offset
             order by c.job_id, c.start_offset",
        )
        .bind(attempts.iter().map(|attempt| attempt.job.0).collect::<Vec<_>>())
        .bind(attempts.iter().map(|one| i32::try_from(one.number).unwrap_or(i32::MAX)).collect::<Vec<_>>())
        .bind(stream)
        .bind(i64::from(bytes))
        .bind(CHUNK_LIMIT)
        .fetch_all(self.pool())
        .await?;
        let mut logs = BTreeMap::<JobId, Vec<(u64, Vec<u8>)>>::new();
        for row in &rows {
            let start: i64 = row.try_get("start_offset")?;
            let chunk = (u64::try_from(start).unwrap_or(0), row.try_get("data")?);
            logs.entry(JobId(row.try_get("job_id")?)).or_default().push(chunk);
        }
        Ok(logs.into_iter().map(|(job, chunks)| (job, last_piece(&chunks))).collect())
    }
}

/// What to say in the place of bytes that are not there.
pub fn missing(bytes: u64) -> String {
    format!("{bytes} bytes of the log are missing here: they never reached the control plane")
}

/// What stands behind the last hole.
fn last_piece(chunks: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut last = Piece::default();
    loop {
        let next = stitch(last.end, chunks);
        if next.data.is_empty() {
            return last.data;
        }
        last = next;
    }
}

/// Joins chunks in order of their start, from `offset` on, up to the first hole behind a byte.
fn stitch(offset: u64, chunks: &[(u64, Vec<u8>)]) -> Piece {
    let mut piece = Piece { start: offset, data: Vec::new(), end: offset };
    for (start, data) in chunks {
        if *start > piece.end && !piece.data.is_empty() {
            break;
        }
        if *start > piece.end {
            (piece.start, piece.end) = (*start, *start);
        }
        let known = usize::try_from(piece.end - *start).unwrap_or(usize::MAX);
        if let Some(fresh) = data.get(known..) {
            piece.data.extend_from_slice(fresh);
            piece.end += fresh.len() as u64;
        }
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(offset: u64, chunks: &[(u64, &str)]) -> (u64, String, u64) {
        let chunks: Vec<_> = chunks.iter().map(|(start, text)| (*start, text.as_bytes().to_vec())).collect();
        let piece = stitch(offset, &chunks);
        (piece.start, String::from_utf8_lossy(&piece.data).into_owned(), piece.end)
    }

    #[test]
    fn overlaps_never_repeat_a_byte() {
        assert_eq!(read(0, &[(0, "abc"), (1, "bcd"), (2, "c"), (3, "def")]), (0, "abcdef".into(), 6));
        assert_eq!(read(2, &[(0, "abc"), (3, "def")]), (2, "cdef".into(), 6));
        assert_eq!(read(7, &[]), (7, String::new(), 7));
    }

    #[test]
    fn the_end_of_a_log_is_what_stands_behind_its_last_hole() {
        let last = |chunks: &[(u64, &str)]| {
            let chunks: Vec<_> = chunks.iter().map(|(at, text)| (*at, text.as_bytes().to_vec())).collect();
            String::from_utf8_lossy(&last_piece(&chunks)).into_owned()
        };
        assert_eq!(last(&[]), "");
        assert_eq!(last(&[(7, "ab"), (8, "bc"), (10, "d")]), "abcd");
        assert_eq!(last(&[(7, "ab"), (12, "ef"), (13, "fg")]), "efg");
    }

    #[test]
    fn piece_ends_at_a_hole_and_the_next_one_starts_behind_it() {
        assert_eq!(read(0, &[(4, "ef")]), (4, "ef".into(), 6), "the start says what is missing before it");
        let chunks = [(0, "ab"), (4, "ef"), (9, "jk")];
        assert_eq!(read(0, &chunks), (0, "ab".into(), 2));
        assert_eq!(read(2, &chunks[1..]), (4, "ef".into(), 6));
        assert_eq!(read(5, &chunks[1..]), (5, "f".into(), 6));
        assert_eq!(read(0, &[(0, ""), (4, "ef")]), (4, "ef".into(), 6), "an empty chunk hides no hole");
    }
}
