//! GET `…/logs/tail`: the log over a WebSocket while it grows.
//!
//! Invariant: text comes in order and once, attempt by attempt; the socket is closed properly only when the job is over
//! and all of its log was sent. Whatever else ends it, the client learns from the missing farewell.

use std::time::Duration;

use axum::{
    Extension,
    extract::{
        Path, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code},
    },
    response::Response,
};
use squadron_core::id::AttemptId;
use squadron_store::ray_submission::Submitted;

use super::{JOB_TAIL, find, refusal::Result};
use crate::{
    http::{
        Ending,
        logs::{How, Reader},
    },
    state::AppState,
    wake::Topic,
};

/// A sign of life while there is nothing to say.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How often a job without a new attempt is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A client that takes nothing for this long is gone.
const WRITE_STALL: Duration = Duration::from_secs(30);
/// Greatest message that is read; clients have nothing to say.
const LONGEST_WORD: usize = 4 * 1024;
/// Characters of one message.
const PIECE: usize = 20_000;

/// Follows the log.
#[utoipa::path(get, path = JOB_TAIL, tag = "ray_jobs", params(("submission_id" = String, Path)),
    responses((status = 101)))]
pub async fn tail(
    State(app): State<AppState>,
    Extension(ending): Extension<Ending>,
    Path(id): Path<String>,
    upgrade: std::result::Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response> {
    let job = find(&app, &id).await?;
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(refused) => return Ok(axum::response::IntoResponse::into_response(refused)),
    };
    let upgrade = upgrade.max_message_size(LONGEST_WORD).max_frame_size(LONGEST_WORD);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let id = job.submission_id.clone();
        match (Follower { app, ending, socket }).follow(job).await {
            Ok(()) => {}
            Err(Lost) => tracing::debug!(id, "a follower of a log is gone, or we stop"),
        }
    }))
}

/// The socket, the database or we ourselves are going away.
struct Lost;

struct Follower {
    app: AppState,
    ending: Ending,
    socket: WebSocket,
}

impl Follower {
    async fn follow(mut self, mut job: Submitted) -> std::result::Result<(), Lost> {
        let mut sent = None;
        loop {
            if sent != Some(job.attempt) {
                sent = Some(job.attempt);
                self.send_attempt(AttemptId { job: job.job, number: job.attempt }).await?;
            } else if job.state.is_terminal() {
                break;
            } else {
                self.pause().await?;
            }
            let seen = self.app.store.submission(&job.submission_id).await.map_err(|_away| Lost)?;
            // A job that was deleted meanwhile had ended.
            let Some(seen) = seen else { break };
            job = seen;
        }
        let farewell = CloseFrame { code: close_code::NORMAL, reason: "".into() };
        self.say(Message::Close(Some(farewell))).await
    }

    /// Until the attempt has ended and its log is quiet, or another attempt began.
    async fn send_attempt(&mut self, attempt: AttemptId) -> std::result::Result<(), Lost> {
        let (app, ending) = (self.app.clone(), self.ending.clone());
        let mut reader = Reader::open(app, ending, attempt, 0, How { follow: true, marks: true })
            .await
            .map_err(|_away| Lost)?;
        let mut text = Text::default();
        loop {
            let mut next = Box::pin(reader.step());
            let step = loop {
                tokio::select! {
                    step = &mut next => break step,
                    heard = listen(&mut self.socket) => heard?,
                    () = tokio::time::sleep(PING_EVERY) => {
                        say(&mut self.socket, Message::Ping(Vec::new().into())).await?;
                    }
                }
            };
            match step.map_err(|_broken| Lost)? {
                Some((bytes, following)) => {
                    self.send_text(&text.take(&bytes)).await?;
                    reader = following;
                }
                None if self.ending.0.is_cancelled() => return Err(Lost),
                None => return self.send_text(&text.rest()).await,
            }
        }
    }

    async fn send_text(&mut self, text: &str) -> std::result::Result<(), Lost> {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
            self.say(Message::Text(piece.into())).await?;
            rest = behind;
        }
        Ok(())
    }

    async fn pause(&mut self) -> std::result::Result<(), Lost> {
        let mut hints = self.app.wake.listen(Topic::Dispatch);
        tokio::select! {
            () = self.ending.0.cancelled() => Err(Lost),
            heard = listen(&mut self.socket) => heard,
            () = hints.next(LOOK_EVERY) => self.say(Message::Ping(Vec::new().into())).await,
        }
    }

    async fn say(&mut self, message: Message) -> std::result::Result<(), Lost> {
        say(&mut self.socket, message).await
    }
}

async fn say(socket: &mut WebSocket, message: Message) -> std::result::Result<(), Lost> {
    match tokio::time::timeout(WRITE_STALL, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Lost),
    }
}

/// Returns when the client said something that may be ignored, or has gone.
async fn listen(socket: &mut WebSocket) -> std::result::Result<(), Lost> {
    match socket.recv().await {
        Some(Ok(Message::Close(_)) | Err(_)) | None => Err(Lost),
        Some(Ok(_)) => Ok(()),
    }
}

/// Bytes as text, although a character may be cut in two by the pieces that they come in.
#[derive(Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// Everything that is whole so far; what is no UTF-8 becomes U+FFFD.
    pub fn take(&mut self, bytes: &[u8]) -> String {
        self.0.extend_from_slice(bytes);
        let rest = self.0.split_off(self.0.len() - unfinished(&self.0));
        let text = String::from_utf8_lossy(&self.0).into_owned();
        self.0 = rest;
        text
    }

    /// What was left over at the end.
    pub fn rest(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.0)).into_owned()
    }
}

/// Bytes at the end that begin a character which is not there yet.
fn unfinished(bytes: &[u8]) -> usize {
    let begins = |tail: &[u8]| {
        std::str::from_utf8(tail).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    let lengths = (1..=3).filter(|length| *length <= bytes.len());
    lengths.into_iter().find(|length| begins(&bytes[bytes.len() - length..])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_survive_being_cut_and_rubbish_is_marked() {
        let mut text = Text::default();
        let bytes = "aé€😀".as_bytes();
        let parts: String = bytes.iter().map(|byte| text.take(&[*byte])).collect();
        assert_eq!((parts.as_str(), text.rest().as_str()), ("aé€😀", ""));
        assert_eq!(text.take(b"x\xff\xe2\x82"), "x\u{fffd}");
        assert_eq!(text.take(b"\xac"), "€");
        assert_eq!(text.take(b"\xe2"), "");
        assert_eq!(text.rest(), "\u{fffd}");
    }
}
