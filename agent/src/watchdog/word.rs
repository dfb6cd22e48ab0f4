//! Word: what a watchdog and its agent say to each other.
//!
//! Invariant: nothing that is not signed with the secret of the attempt is believed by either side, and an answer holds for the
//! one question whose nonce it repeats, so an answer that was kept is worth nothing later. The secret itself is never sent.

use std::fmt;

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    hmac::{HMAC_SHA256, Key, sign},
};
use squadron_core::id::AttemptId;

/// Bytes of a question or an answer, at most.
pub const LONGEST: usize = 256;
const ASK: &str = "squadron-watchdog/1 ask";
const LEFT: &str = "squadron-watchdog/1 left";
/// Digits of a secret, a nonce and a signature.
const DIGITS: usize = 64;

/// A secret as 64 hexadecimal digits; its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A new one.
    pub fn draw() -> Secret {
        Secret(random())
    }

    /// Reads one; nothing that is shorter or longer.
    pub fn read(text: &str) -> Option<Secret> {
        let whole = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        whole.then(|| Secret(text.to_owned()))
    }

    /// The secret of an attempt, by one that nobody else knows.
    pub fn of(&self, attempt: AttemptId) -> Secret {
        Secret(self.sign(&attempt.to_string()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    fn sign(&self, text: &str) -> String {
        hex(sign(&Key::new(HMAC_SHA256, self.0.as_bytes()), text.as_bytes()).as_ref())
    }

    fn seal(&self, text: &str) -> String {
        format!("{text} {}", self.sign(text))
    }

    fn open<'a>(&self, sealed: &'a str) -> Option<&'a str> {
        let (text, signature) = sealed.rsplit_once(' ')?;
        verify_slices_are_equal(self.sign(text).as_bytes(), signature.as_bytes()).ok()?;
        Some(text)
    }
}

/// How much of the lease is left for the attempt?
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    pub attempt: AttemptId,
    nonce: String,
}

impl Question {
    pub fn new(attempt: AttemptId) -> Question {
        Question { attempt, nonce: random() }
    }

    pub fn sealed(&self, secret: &Secret) -> String {
        secret.seal(&format!("{ASK} {} {}", self.attempt, self.nonce))
    }

    /// Reads a question whose signature is still to be looked at.
    pub fn read(sealed: &str) -> Option<Question> {
        let mut words = sealed.strip_prefix(ASK)?.strip_prefix(' ')?.split(' ');
        let (job, number) = words.next()?.split_once('/')?;
        let attempt = AttemptId { job: job.parse().ok()?, number: number.parse().ok()? };
        let nonce = words.next().filter(|nonce| nonce.len() == DIGITS)?.to_owned();
        Some(Question { attempt, nonce })
    }

    /// The answer that `left` milliseconds are left, if the question was signed with this secret.
    pub fn answered(&self, sealed: &str, secret: &Secret, left: u64) -> Option<String> {
        secret.open(sealed).filter(|text| *text == format!("{ASK} {} {}", self.attempt, self.nonce))?;
        Some(secret.seal(&format!("{LEFT} {} {left}", self.nonce)))
    }

    /// Milliseconds that an answer to this very question says are left.
    pub fn left(&self, sealed: &str, secret: &Secret) -> Option<u64> {
        let said = secret.open(sealed)?.strip_prefix(LEFT)?.strip_prefix(' ')?;
        said.strip_prefix(&self.nonce)?.strip_prefix(' ')?.parse().ok()
    }
}

fn random() -> String {
    hex(&rand::random::<[u8; DIGITS / 2]>())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn attempt(number: u32) -> AttemptId {
        AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number }
    }

    #[test]
    fn an_answer_holds_for_its_own_question_and_secret_only() {
        let secret = Secret::draw().of(attempt(1));
        let (first, second) = (Question::new(attempt(1)), Question::new(attempt(1)));
        let asked = first.sealed(&secret);
        assert!(asked.len() <= LONGEST, "{}", asked.len());
        let read = Question::read(&asked).unwrap();
        assert_eq!(read, first);
        let answer = read.answered(&asked, &secret, 60_000).unwrap();
        assert_eq!(first.left(&answer, &secret), Some(60_000));
        assert_eq!(second.left(&answer, &secret), None, "kept from another question");
        assert_eq!(first.left(&answer, &Secret::draw()), None, "made up by somebody");
        assert_eq!(first.left(&answer.replace(" 60000 ", " 90000 "), &secret), None);
    }

    #[test]
    fn nobody_without_the_secret_of_the_attempt_gets_an_answer() {
        let (ours, theirs) = (Secret::draw(), Secret::draw());
        assert_ne!(ours.of(attempt(1)), ours.of(attempt(2)));
        let asked = Question::new(attempt(1)).sealed(&theirs.of(attempt(1)));
        assert_eq!(Question::read(&asked).unwrap().answered(&asked, &ours.of(attempt(1)), 1), None);
        let stretched = format!("{} x", Question::new(attempt(1)).sealed(&ours));
        assert_eq!(Question::read(&stretched).unwrap().answered(&stretched, &ours, 1), None);
    }

    #[test]
    fn nonsense_is_no_question_and_no_secret() {
        for text in ["", "squadron-watchdog/1 ask", "squadron-watchdog/1 ask x/1 2 3", "GET / HTTP/1.1"] {
            assert_eq!(Question::read(text), None, "{text}");
        }
        assert_eq!((Secret::read("abc"), Secret::read(&"g".repeat(64))), (None, None));
        let secret = Secret::draw();
        assert_eq!(Secret::read(secret.text()), Some(secret.clone()));
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
