//! The projected token: read from its file on every use, because the kubelet replaces it.

use std::{fmt, path::PathBuf};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use squadron_core::time::Timestamp;

use super::LinkError;

/// Longest token that is read, in bytes.
const LONGEST: usize = 8 * 1024;

/// Where the token lies.
#[derive(Clone, Debug)]
pub struct TokenFile(pub PathBuf);

/// A token; it never shows itself in a log.
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(redacted)")
    }
}

#[derive(Deserialize)]
struct Times {
    exp: i64,
    #[serde(default)]
    iat: i64,
}

impl TokenFile {
    pub async fn read(&self) -> Result<Token, LinkError> {
        let text =
            tokio::fs::read_to_string(&self.0).await.map_err(LinkError::at("read the projected token"))?;
        let text = text.trim();
        if text.is_empty() || text.len() > LONGEST {
            return Err(LinkError::Refused(format!(
                "the token in {} is empty or too long",
                self.0.display()
            )));
        }
        Ok(Token(text.to_owned()))
    }
}

impl Token {
    pub fn secret(&self) -> &str {
        &self.0
    }

    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }

    /// When a newer one should be shown: after 70 % of its life. Our own reading, no check.
    pub fn renew_at(&self) -> Option<Timestamp> {
        let body = BASE64_URL_SAFE_NO_PAD.decode(self.0.split('.').nth(1)?).ok()?;
        let times: Times = serde_json::from_slice(&body).ok()?;
        let life = times.exp.checked_sub(times.iat)?.max(0);
        Some(Timestamp::from_millis((times.exp - life * 3 / 10).saturating_mul(1_000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_before_its_end_and_stays_out_of_logs() {
        let body = BASE64_URL_SAFE_NO_PAD.encode(br#"{"iat":1000,"exp":1600}"#);
        let token = Token(format!("h.{body}.s"));
        assert_eq!(token.renew_at(), Some(Timestamp::from_millis(1_420_000)));
        assert_eq!(format!("{token:?}"), "Token(redacted)");
        assert_eq!(Token("nonsense".into()).renew_at(), None);
    }
}
