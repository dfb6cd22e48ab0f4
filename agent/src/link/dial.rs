//! Dial: one connection to the control plane, and a stream on it up to its welcome.
//!
//! Owns the handshake. Invariant: TLS to the given authority only, the token is read anew for each dial, and a stream is
//! used only after the server's welcome. There is no way to switch verification off.

use std::{sync::Arc, time::Duration};

use http::Uri;
use squadron_proto::{
    CLUSTER_HEADER, DESIRED_LIMIT, INGEST_LIMIT,
    link::{Hello, link_client::LinkClient},
};
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};

use super::{
    Dialler,
    token::{Token, TokenError},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(15);
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Room for the frame of a message around its payload, in bytes.
const FRAME: usize = 4 * 1024;

/// Why a dial failed.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error("the token cannot be sent in a header")]
    Header,
    #[error("{address} is no https address")]
    Address { address: String },
    #[error("no TLS connection to {address}")]
    Connect {
        address: String,
        #[source]
        cause: tonic::transport::Error,
    },
}

/// Where to dial and whom to trust.
#[derive(Clone, Debug)]
pub struct Target {
    endpoint: Endpoint,
    address: String,
}

impl Target {
    pub fn new(address: &str, ca_pem: &[u8]) -> Result<Target, DialError> {
        let bad = || DialError::Address { address: address.to_owned() };
        let uri: Uri = address.parse().map_err(|_| bad())?;
        if uri.scheme_str() != Some("https") {
            return Err(bad());
        }
        let host = uri.host().ok_or_else(bad)?.trim_matches(['[', ']']).to_owned();
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca_pem)).domain_name(host);
        let endpoint = Endpoint::from(uri)
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
            .initial_stream_window_size(256 * 1024)
            .initial_connection_window_size(1024 * 1024)
            .tls_config(tls)
            .map_err(|cause| DialError::Connect { address: address.to_owned(), cause })?;
        Ok(Target { endpoint, address: address.to_owned() })
    }
}

/// A connection with the token that authenticates its calls.
pub struct Connection {
    pub client: LinkClient<Channel>,
    pub token: Token,
}

impl Dialler {
    /// Opens a connection of its own.
    pub async fn connect(self: &Arc<Self>) -> Result<Connection, DialError> {
        let token = Token::read(&self.token_path)?;
        let channel = self.target.endpoint.connect().await.map_err(|cause| DialError::Connect {
            address: self.target.address.clone(),
            cause,
        })?;
        let client = LinkClient::new(channel)
            .max_decoding_message_size(DESIRED_LIMIT + FRAME)
            .max_encoding_message_size(INGEST_LIMIT + FRAME);
        Ok(Connection { client, token })
    }

    /// `body` with the metadata that every call carries.
    pub fn request<T>(&self, token: &Token, body: T) -> Result<Request<T>, DialError> {
        let mut request = Request::new(body);
        let bearer: MetadataValue<Ascii> =
            format!("Bearer {}", token.expose()).parse().map_err(|_| DialError::Header)?;
        let cluster = self.cluster.to_string().parse().map_err(|_| DialError::Header)?;
        request.metadata_mut().insert("authorization", bearer);
        request.metadata_mut().insert(CLUSTER_HEADER, cluster);
        Ok(request)
    }

    /// The answer to a challenge.
    pub fn hello(&self, nonce: &[u8], token: &Token, spooled_epochs: Vec<u64>) -> Hello {
        let signature = self.identity.sign(nonce, &self.cluster.to_string(), token);
        Hello {
            epoch: self.epoch,
            pod_uid: token.pod_uid().to_owned(),
            public_key: self.identity.public_key().to_vec().into(),
            signature: signature.to_vec().into(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: self.kubernetes_version.clone(),
            spooled_epochs,
            jwks: self.jwks(),
        }
    }
}

/// A status in words; the codes that an operator meets get a hint.
pub fn describe(status: &Status) -> String {
    match status.code() {
        tonic::Code::Unauthenticated => format!(
            "the control plane does not accept this agent's token ({}); check cluster.id and controlPlane.audience, \
             and that the cluster was added and accepted",
            status.message()
        ),
        tonic::Code::Unavailable | tonic::Code::Unknown => {
            format!("the control plane cannot be reached or closed the stream ({})", status.message())
        }
        _ => status.message().to_owned(),
    }
}
