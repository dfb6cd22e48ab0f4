//! Client: speaks to the control plane and comes back with a value of the API or a reason.
//!
//! Invariant: a lost answer never makes two of anything (see [`retry`]); an answer is bounded in size. The token goes
//! out in one header and nowhere else.

mod api;
mod call;
mod error;
pub mod retry;
mod tls;
mod trace;

pub use api::LogStream;
pub use error::ClientError;

use std::time::{Duration, Instant};

use call::Call;
use reqwest::Response;
use retry::Trouble;
use serde::de::DeserializeOwned;
use squadron_api::error::Problem;

use crate::{config::Connection, failure::Failure};

/// No answer of the API is larger, log streams apart.
const MAX_ANSWER: usize = 64 << 20;

/// One control plane, and who we are to it.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    connection: Connection,
    debug: bool,
    hasty: bool,
}

impl Client {
    pub fn new(connection: Connection, debug: bool) -> Result<Client, Failure> {
        let builder = reqwest::Client::builder()
            .user_agent(concat!("squadron/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .tcp_keepalive(Duration::from_secs(20))
            .http2_keep_alive_interval(Duration::from_secs(20))
            .redirect(reqwest::redirect::Policy::none());
        let http = tls::trust(builder, connection.ca.as_deref())?
            .build()
            .map_err(|source| ClientError::Setup { server: connection.address().to_owned(), source })?;
        Ok(Client { http, connection, debug, hasty: false })
    }

    /// The same client, failing at the first trouble; for callers that bear an outage themselves.
    pub fn hasty(&self) -> Client {
        Client { hasty: true, ..self.clone() }
    }

    fn patience(&self, call: &Call) -> Duration {
        if self.hasty { Duration::ZERO } else { call.patience }
    }

    /// The server as people write it.
    pub fn address(&self) -> &str {
        self.connection.address()
    }

    /// Whether everything on the way is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.connection.server.scheme() == "https"
    }

    pub fn has_token(&self) -> bool {
        self.connection.token.is_some()
    }

    /// Sends a call until it brings an answer, is refused, or patience ends.
    async fn send(&self, call: &Call) -> Result<Response, ClientError> {
        let start = Instant::now();
        for tries in 1.. {
            let (error, retry_after) = match self.send_once(call).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let retry_after = retry_after(&response);
                    (self.refusal(response).await, retry_after)
                }
                Err(error) => (error, None),
            };
            let trouble = trouble(&error, retry_after);
            match retry::next_pause(trouble, call.repeat, tries, start.elapsed(), self.patience(call)) {
                None => return Err(error),
                Some(pause) => self.pause(&error, tries, call.patience, pause).await,
            }
        }
        unreachable!("the loop ends by returning")
    }

    async fn pause(&self, error: &ClientError, tries: u32, patience: Duration, pause: Duration) {
        if tries == 3 {
            eprintln!("{error}; trying again for up to {} s", patience.as_secs());
        }
        tokio::time::sleep(pause).await;
    }

    async fn send_once(&self, call: &Call) -> Result<Response, ClientError> {
        let url = call.url(&self.connection.server);
        if self.debug {
            eprintln!("{}", trace::request(call, &url, self.has_token()));
        }
        let mut request = self.http.request(call.method.clone(), url);
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        if let Some(token) = &self.connection.token {
            request = request.header(reqwest::header::AUTHORIZATION, token.bearer());
        }
        if let Some((content_type, body)) = &call.body {
            request = request.header(reqwest::header::CONTENT_TYPE, *content_type).body(body.clone());
        }
        if let Some(timeout) = call.timeout {
            request = request.timeout(timeout);
        }
        let start = Instant::now();
        let response = request.send().await.map_err(|error| self.transport(error))?;
        if self.debug {
            eprintln!("{}", trace::answer(&response, start.elapsed()));
        }
        Ok(response)
    }

    /// Sends a call and reads its answer as a value of the API.
    async fn ask<T: DeserializeOwned>(&self, call: &Call) -> Result<T, ClientError> {
        let body = self.ask_text(call).await?;
        serde_json::from_slice(&body)
            .map_err(|source| ClientError::Unreadable { server: self.address().to_owned(), source })
    }

    /// Sends a call and reads its answer. A connection that breaks while the answer arrives counts as a lost answer.
    async fn ask_text(&self, call: &Call) -> Result<Vec<u8>, ClientError> {
        let start = Instant::now();
        for tries in 1.. {
            let response = self.send(call).await?;
            let error = match self.read_body(response).await {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            match retry::next_pause(
                trouble(&error, None),
                call.repeat,
                tries,
                start.elapsed(),
                self.patience(call),
            ) {
                None => return Err(error),
                Some(pause) => tokio::time::sleep(pause).await,
            }
        }
        unreachable!("the loop ends by returning")
    }

    async fn read_body(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.transport(error))? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(ClientError::TooLarge { server: self.address().to_owned(), limit: MAX_ANSWER });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Reads the body of an answer that is no success.
    async fn refusal(&self, response: Response) -> ClientError {
        let status = response.status().as_u16();
        match self.read_body(response).await {
            Err(error) => error,
            Ok(body) => match serde_json::from_slice::<Problem>(&body) {
                Ok(problem) => ClientError::Refused(Box::new(Problem { status, ..problem })),
                Err(_) => ClientError::Foreign { server: self.address().to_owned(), status },
            },
        }
    }

    fn transport(&self, error: reqwest::Error) -> ClientError {
        ClientError::of_transport(self.address(), error)
    }
}

fn trouble(error: &ClientError, retry_after: Option<Duration>) -> Trouble {
    if error.never_sent() {
        Trouble::NeverSent
    } else if error.answer_lost() {
        Trouble::AnswerLost
    } else if error.is_busy() {
        Trouble::Busy { retry_after }
    } else {
        Trouble::Final
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(reqwest::header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
