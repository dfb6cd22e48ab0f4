//! Tokens: kept out of logs, command lines and files that others can read.

use std::{fmt, fs, os::unix::fs::PermissionsExt, path::Path};

use serde::{Deserialize, Serialize};

use super::ConfigError;

/// No legal token is longer.
const MAX_TOKEN: usize = 4_096;

/// An API token. `Debug` shows only that it is there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// Accepts what fits into one HTTP header: visible ASCII, no spaces.
    pub fn parse(text: &str) -> Result<Token, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            Err("it is empty")
        } else if text.len() > MAX_TOKEN {
            Err("it is too long")
        } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Err("it holds spaces or characters that no token has")
        } else {
            Ok(Token(text.to_owned()))
        }
    }

    /// The value of the Authorization header.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(masked)")
    }
}

/// Reads a token; refuses a file that every user of the machine can read.
pub fn read_token_file(path: &Path) -> Result<Token, ConfigError> {
    let unreadable = |source| ConfigError::Read { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & 0o007 != 0 {
        return Err(ConfigError::Exposed { path: path.to_owned(), mode });
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    Token::parse(&text).map_err(|problem| ConfigError::BadToken { path: path.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn token_never_shows_in_debug_output() {
        let token = Token::parse("sqd_secret\n").unwrap();
        assert!(!format!("{token:?}").contains("secret"));
        assert_eq!(token.bearer(), "Bearer sqd_secret");
    }

    #[test]
    fn token_that_would_break_a_header_is_refused() {
        assert!(Token::parse("sqd_a\r\nX-Admin: yes").is_err());
        assert!(Token::parse(" \n").is_err());
    }

    #[test]
    fn token_file_that_all_can_read_is_refused_with_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "sqd_x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(read_token_file(&path), Err(ConfigError::Exposed { mode: 0o644, .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read_token_file(&path).is_ok());
    }
}
