//! Desk: where the agent answers watchdogs.
//!
//! Invariant: nobody gets an answer without the secret of the attempt that is asked for, and no answer is longer than the
//! question, so the desk serves neither the curious nor as an amplifier. It only reads what the agent knows already; a lost
//! question or answer is asked again.

use std::{io, time::Duration};

use squadron_core::id::AttemptId;
use tokio::net::UdpSocket;

use super::word::{LONGEST, Question, Secret};

/// After an error of the socket.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers for ever. `book` knows the secret of an attempt and the milliseconds that are left for it; nothing of an attempt
/// that this cluster should not hold.
pub async fn answer(socket: UdpSocket, book: impl Fn(AttemptId) -> Option<(Secret, u64)>) {
    let mut buffer = [0; LONGEST];
    loop {
        if let Err(error) = answer_one(&socket, &mut buffer, &book).await {
            tracing::warn!(%error, "a watchdog could not be answered");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn answer_one(
    socket: &UdpSocket,
    buffer: &mut [u8],
    book: &impl Fn(AttemptId) -> Option<(Secret, u64)>,
) -> io::Result<()> {
    let (length, from) = socket.recv_from(buffer).await?;
    let Some(answer) = buffer.get(..length).and_then(|asked| reply(asked, book)) else { return Ok(()) };
    socket.send_to(answer.as_bytes(), from).await.map(|_| ())
}

fn reply(asked: &[u8], book: &impl Fn(AttemptId) -> Option<(Secret, u64)>) -> Option<String> {
    let sealed = std::str::from_utf8(asked).ok()?;
    let question = Question::read(sealed)?;
    let (secret, left) = book(question.attempt)?;
    question.answered(sealed, &secret, left).filter(|answer| answer.len() <= asked.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_question_with_the_secret_of_a_held_attempt_is_answered() {
        let attempt = AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 };
        let other = AttemptId { number: 2, ..attempt };
        let secret = Secret::draw();
        let book = |asked| (asked == attempt).then(|| (secret.clone(), u64::MAX));
        let question = Question::new(attempt);
        let answer = reply(question.sealed(&secret).as_bytes(), &book).unwrap();
        assert_eq!(question.left(&answer, &secret), Some(u64::MAX), "the longest answer fits");
        assert_eq!(reply(question.sealed(&Secret::draw()).as_bytes(), &book), None);
        assert_eq!(reply(Question::new(other).sealed(&secret).as_bytes(), &book), None);
        assert_eq!(reply(&[0xff; LONGEST], &book), None);
    }
}
