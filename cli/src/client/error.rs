//! Why a request brought no answer that can be used.

use std::error::Error as _;

use squadron_api::error::Problem;

use crate::{exit::Exit, failure::Failure};

/// What went wrong between us and the server, or what the server refused.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot set up the connection to {server}")]
    Setup { server: String, source: reqwest::Error },
    #[error("cannot reach {server}")]
    Unreachable { server: String, source: reqwest::Error },
    #[error("{server} is not trusted: its certificate does not fit the CA in use")]
    Untrusted { server: String, source: reqwest::Error },
    #[error("the connection to {server} broke before the answer was complete")]
    Broken { server: String, source: reqwest::Error },
    #[error("{server} did not answer in time")]
    TimedOut { server: String, source: reqwest::Error },
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    #[error("{server} answered {status} in a form that is not Squadron's")]
    Foreign { server: String, status: u16 },
    #[error("the answer of {server} cannot be read; client and server may differ in version")]
    Unreadable { server: String, source: serde_json::Error },
    #[error("the answer of {server} is larger than {limit} bytes")]
    TooLarge { server: String, limit: usize },
}

impl ClientError {
    /// Sorts a transport error: which of the steps failed.
    pub fn of_transport(server: &str, source: reqwest::Error) -> Self {
        let server = server.to_owned();
        if is_certificate_error(&source) {
            ClientError::Untrusted { server, source }
        } else if source.is_timeout() {
            ClientError::TimedOut { server, source }
        } else if source.is_builder() {
            ClientError::Setup { server, source }
        } else if source.is_connect() {
            ClientError::Unreachable { server, source }
        } else {
            ClientError::Broken { server, source }
        }
    }

    /// The request never left: repeating it is always safe.
    pub fn never_sent(&self) -> bool {
        match self {
            ClientError::Unreachable { .. } => true,
            ClientError::TimedOut { source, .. } => source.is_connect(),
            _ => false,
        }
    }

    /// The server may have done it, and the answer was lost.
    pub fn answer_lost(&self) -> bool {
        matches!(self, ClientError::Broken { .. } | ClientError::TimedOut { .. })
    }

    /// Whether the server is there but cannot serve at the moment.
    pub fn is_busy(&self) -> bool {
        match self {
            ClientError::Refused(problem) => matches!(problem.status, 429 | 502..=504),
            ClientError::Foreign { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }

    /// Trying again later may help by itself.
    pub fn is_passing(&self) -> bool {
        self.never_sent() || self.answer_lost() || self.is_busy()
    }

    fn next_step(&self) -> String {
        match self {
            ClientError::Untrusted { .. } => {
                "give the control plane's CA with --ca DATA/tls/ca.crt, and the name or address the certificate is for".into()
            }
            ClientError::Unreachable { .. } | ClientError::TimedOut { .. } | ClientError::Broken { .. } => {
                "check the address and that the control plane runs; `squadron doctor` tests each step".into()
            }
            ClientError::Foreign { .. } => "check --server: something else seems to listen there".into(),
            ClientError::Unreadable { .. } => "compare both with `squadron version`".into(),
            ClientError::TooLarge { .. } => "ask for less with --limit".into(),
            ClientError::Setup { .. } | ClientError::Refused(_) => String::new(),
        }
    }
}

/// Looks through the layers for what rustls said about the certificate.
fn is_certificate_error(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(layer) = cause {
        if matches!(layer.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        // An I/O error names what is inside its inner error as its source, and so hides the inner error itself.
        let inside_io = layer.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = match inside_io {
            Some(inner) => Some(inner),
            None => layer.source(),
        };
    }
    false
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        if let ClientError::Refused(problem) = error {
            return Failure::from(*problem);
        }
        let exit = match error {
            ClientError::Untrusted { .. } => Exit::Denied,
            ClientError::Foreign { status: 408 | 429 | 502..=504, .. } => Exit::Unavailable,
            ClientError::Foreign { .. } => Exit::General,
            ClientError::Unreadable { .. } | ClientError::TooLarge { .. } | ClientError::Setup { .. } => {
                Exit::General
            }
            _ => Exit::Unavailable,
        };
        let (what, next) = (error.to_string(), error.next_step());
        Failure::new(exit, what).next(next).because(error)
    }
}
