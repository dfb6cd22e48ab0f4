//! Config: which server, which CA, which token.
//!
//! Invariant: a token goes only to the server it was saved with, never over plain HTTP to another machine, and is never
//! taken from a file that others can read. Fails with the path and the command that repairs it.

mod connection;
mod file;
mod secret;

pub use connection::{Connection, Wishes, resolve};
pub use file::{Config, Context, default_path, read, write};
pub use secret::{Token, read_token_file};

use std::path::PathBuf;

use crate::{exit::Exit, failure::Failure};

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("no server is set")]
    NoServer,
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a valid configuration")]
    Syntax { path: PathBuf, source: serde_yaml_ng::Error },
    #[error("{path} holds a token and other users can read it (mode {mode:04o})")]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{path} holds no token: {problem}")]
    BadToken { path: PathBuf, problem: &'static str },
    #[error("context {name:?} does not exist; there is {known}")]
    UnknownContext { name: String, known: String },
    #[error("server address {text:?} {problem}")]
    BadServer { text: String, problem: String },
    #[error("{path} is no usable CA certificate: {problem}")]
    BadCa { path: PathBuf, problem: String },
    #[error("neither XDG_CONFIG_HOME nor HOME is set, so there is no place for the configuration")]
    NoHome,
}

impl ConfigError {
    fn next_step(&self) -> String {
        match self {
            ConfigError::NoServer => {
                "run `squadron login --server https://HOST:8443 --ca FILE --token-file FILE`, or set SQUADRON_SERVER, \
                 SQUADRON_CA and SQUADRON_TOKEN"
                    .into()
            }
            ConfigError::Exposed { path, .. } => format!("chmod 600 {}", path.display()),
            ConfigError::UnknownContext { .. } => "list them with `squadron context list`".into(),
            ConfigError::BadServer { .. } => "give it as https://HOST:PORT".into(),
            ConfigError::BadToken { .. } => "a token begins with sqd_; the first one is in DATA/admin.token".into(),
            ConfigError::BadCa { .. } => "the control plane writes its CA to DATA/tls/ca.crt".into(),
            ConfigError::NoHome => "set SQUADRON_CONFIG to a file".into(),
            ConfigError::Syntax { .. } => "repair the file, or move it away and log in again".into(),
            ConfigError::Read { .. } | ConfigError::Write { .. } => "check the path and its permissions".into(),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let exit = match error {
            ConfigError::UnknownContext { .. } => Exit::NotFound,
            _ => Exit::Usage,
        };
        let (what, next) = (error.to_string(), error.next_step());
        Failure::new(exit, what).next(next).because(error)
    }
}
