//! The log of a job in HTTPMode, from Ray's dashboard.
//!
//! The dashboard gives the whole log each time, so it is asked once a second and only what is new is taken. Of a log
//! that grows beyond [`LIMIT`] the beginning is kept, and its end says that the rest is not. After the job ended the
//! last look is repeated until it succeeds, or fails a few times: the head may be on its way out.

use std::time::Duration;

use serde::Deserialize;
use squadron_ray::view::Object;

use tokio::task::block_in_place;

use super::{Chunk, Shared, Source, mark::Mark};
use crate::watch::Kind;

const EVERY: Duration = Duration::from_secs(1);
/// Largest answer that is read, in bytes.
const LIMIT: usize = 16 * 1024 * 1024;
/// Bytes of one chunk at most.
const CHUNK: usize = 64 * 1024;
/// How often the last look after the job's end is tried.
const LAST_LOOKS: u32 = 5;
/// The last line of a log that is longer.
const CUT: &[u8] = b"\n[squadron: the log goes on; in HTTPMode no more than its first 16 MiB are kept]\n";

const QUOTE: &[u8] = b"\"";

#[derive(Deserialize)]
struct Answer {
    logs: String,
}

/// What a look at the log gave.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Look {
    /// The log, and whether it goes on beyond what is read.
    Log {
        text: String,
        is_cut: bool,
    },
    /// There is no dashboard or no submission yet.
    Nowhere,
    Failed,
}

/// Takes the log until the RayJob ended or is gone.
pub(super) async fn follow(shared: &Shared, source: &Source) {
    let mut mark = Mark::load(&shared.folder, source.attempt, &source.uid, &shared.spooled);
    let mut last_looks = 0;
    while let Some(job) = shared.cache.get(Kind::RayJob, &source.namespace, &source.name) {
        if crate::watch::object::uid(&job) != source.uid {
            return;
        }
        let state = job["status"]["jobDeploymentStatus"].as_str().unwrap_or_default();
        let ended = matches!(state, "Complete" | "Failed" | "ValidationFailed");
        last_looks += u32::from(ended);
        let look = ask(shared, &job).await;
        if let Look::Log { text, is_cut } = &look {
            let log = new_bytes(text, *is_cut, mark.taken());
            if !take(shared, source, &mut mark, &log).await || *is_cut {
                return;
            }
        }
        if ended && (look != Look::Failed || last_looks >= LAST_LOOKS) {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn ask(shared: &Shared, job: &Object) -> Look {
    let text = |key: &str| job["status"][key].as_str().filter(|text| !text.is_empty());
    let (Some(dashboard), Some(id)) = (text("dashboardURL"), text("jobId")) else { return Look::Nowhere };
    match shared.dashboards.logs(dashboard, id, LIMIT).await {
        Ok(((200, body), is_cut)) => {
            let text = if is_cut { beginning(&body) } else { whole(&body) };
            text.map_or(Look::Failed, |text| Look::Log { text, is_cut })
        }
        Ok(_) => Look::Failed,
        Err(error) => {
            tracing::debug!(%error, "the driver's log cannot be read");
            Look::Failed
        }
    }
}

fn whole(body: &[u8]) -> Option<String> {
    serde_json::from_slice::<Answer>(body).ok().map(|answer| answer.logs)
}

/// The text of an answer whose end was cut off: `{"logs": "…`, up to the last whole character.
fn beginning(body: &[u8]) -> Option<String> {
    let opened = [b"{".as_slice(), b"\"logs\"", b":", QUOTE];
    let mut rest = body;
    for token in opened {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    let text = &rest[..whole_characters(rest)];
    serde_json::from_slice(&[QUOTE, text, QUOTE].concat()).ok()
}

/// Length of the longest beginning of a JSON string's inside that ends neither within an escape nor within a character.
fn whole_characters(inside: &[u8]) -> usize {
    let mut length = 0;
    while let Some(next) = inside.get(length) {
        let rest = &inside[length..];
        let step = match next {
            b'"' => break,
            b'\\' if rest.starts_with(b"\\ud") || rest.starts_with(b"\\uD") => pair(rest),
            b'\\' if rest.get(1) == Some(&b'u') => 6,
            b'\\' => 2,
            _ => 1,
        };
        if rest.len() < step {
            break;
        }
        length += step;
    }
    std::str::from_utf8(&inside[..length]).map_or_else(|error| error.valid_up_to(), str::len)
}

/// Length of an escape in the range of surrogates: those from d800 to dbff come with a second one.
fn pair(rest: &[u8]) -> usize {
    if matches!(rest.get(3), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B')) { 12 } else { 6 }
}

/// What of the log is new after `taken` bytes. The note at a cut log's end counts as its last bytes, so that a restart
/// does not write it twice.
fn new_bytes(text: &str, is_cut: bool, taken: u64) -> Vec<u8> {
    let known = usize::try_from(taken).unwrap_or(usize::MAX);
    let end = if is_cut { CUT } else { b"" };
    let log = [text.as_bytes(), end].concat();
    log.get(known..).unwrap_or_default().to_vec()
}

/// False when nobody takes chunks any more.
async fn take(shared: &Shared, source: &Source, mark: &mut Mark, new: &[u8]) -> bool {
    for data in new.chunks(CHUNK) {
        let chunk = Chunk { attempt: source.attempt, offset: mark.offset(), data: data.to_vec() };
        if !shared.keep(chunk).await {
            return false;
        }
        block_in_place(|| mark.advance(data.len(), None));
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_cut_anywhere_gives_the_beginning_of_its_text() {
        let log = "step 1\n\"quoted\" \\ tab\t ü 漢 \u{1F680} end";
        for body in [json!({"logs": log}).to_string(), escaped(log)] {
            let mut longest = 0;
            for cut in 10..body.len() {
                let text = beginning(&body.as_bytes()[..cut]).unwrap();
                assert!(log.starts_with(&text), "{cut}: {text:?}");
                assert!(text.len() >= longest);
                longest = text.len();
            }
            assert_eq!(longest, log.len());
        }
        assert_eq!(beginning(b"<html>"), None);
    }

    /// As Python writes it: everything beyond ASCII by its code units.
    fn escaped(log: &str) -> String {
        let text = serde_json::to_string(log).unwrap();
        let mut units = [0; 2];
        let ascii: String = text
            .chars()
            .map(|character| {
                let codes = character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
                if character.is_ascii() { character.to_string() } else { codes.collect() }
            })
            .collect();
        format!("{{\"logs\": {ascii}}}")
    }

    #[test]
    fn a_long_log_ends_with_a_note_that_is_written_once() {
        let note = String::from_utf8(CUT.to_vec()).unwrap();
        assert_eq!(new_bytes("0123456789", true, 4), format!("456789{note}").into_bytes());
        assert_eq!(new_bytes("0123456789", true, 10), CUT);
        assert_eq!(new_bytes("0123456789", true, 10 + CUT.len() as u64), b"");
        assert_eq!(new_bytes("0123456789", false, 4), b"456789");
        assert_eq!(new_bytes("0123456789", false, 40), b"");
    }
}
