//! Peer: the control plane as seen from here, and how we show who we are.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use squadron_core::{id::ClusterId, link::hello_bytes};
use squadron_proto::{
    CLUSTER_HEADER, DESIRED_LIMIT, INGEST_LIMIT,
    link::{Hello, Refused, link_client::LinkClient, refused::Code},
};
use tonic::{
    Request,
    metadata::MetadataValue,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};

use super::{AgentKey, Home, LinkError, TokenFile, home::key_set, token::Token};
use crate::lease::Lease;

const CONNECT: Duration = Duration::from_secs(10);
const PING: Duration = Duration::from_secs(10);
/// Room for the frame of a message around its payload, in bytes.
const FRAME: usize = 4 * 1024;

/// Where the control plane is, and who we are.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    pub address: String,
    /// PEM bundle that signs its certificate; nothing else is trusted.
    pub ca: PathBuf,
    pub cluster: ClusterId,
    pub token: TokenFile,
    pub code: Option<String>,
    pub pod_uid: String,
}

/// The control plane.
pub struct Peer {
    settings: PeerSettings,
    key: AgentKey,
    epoch: u64,
    lease: Lease,
    home: Home,
    cluster: kube::Client,
    /// The cluster's key set as last read.
    keys: Mutex<String>,
}

/// One connection, with the token that it was opened with.
pub struct Line {
    pub client: LinkClient<Channel>,
    pub token: Token,
}

impl Peer {
    /// The control plane of the life `epoch`, which holds `lease`.
    pub fn new(
        settings: PeerSettings,
        key: AgentKey,
        (epoch, lease): (u64, Lease),
        home: Home,
        cluster: kube::Client,
    ) -> Peer {
        let keys = Mutex::new(home.jwks.clone());
        Peer { settings, key, epoch, lease, home, cluster, keys }
    }

    /// Reads the cluster's key set anew, for the next hello. An API server that is away leaves the old one.
    pub async fn refresh_keys(&self) {
        match key_set(&self.cluster).await {
            Ok(keys) => *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys,
            Err(error) => tracing::warn!(error = format!("{error:#}"), "the key set cannot be read anew"),
        }
    }

    pub fn code(&self) -> Option<&str> {
        self.settings.code.as_deref().filter(|code| !code.is_empty())
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    pub async fn fresh_token(&self) -> Result<Token, LinkError> {
        self.settings.token.read().await
    }

    /// Dials; name and certificate authorities are read anew each time.
    pub async fn dial(&self) -> Result<Line, LinkError> {
        let token = self.fresh_token().await?;
        let ca = tokio::fs::read(&self.settings.ca)
            .await
            .map_err(LinkError::at("read the certificate authority"))?;
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca));
        let endpoint = Endpoint::from_shared(self.settings.address.clone())
            .map_err(LinkError::at("read the control plane's address"))?
            .tls_config(tls)
            .map_err(LinkError::at("set up TLS"))?
            .connect_timeout(CONNECT)
            .http2_keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .keep_alive_while_idle(true);
        let channel = endpoint.connect().await.map_err(|error| LinkError::Failed {
            step: "connect to the control plane",
            cause: chain(&error),
        })?;
        let client = LinkClient::new(channel)
            .max_decoding_message_size(DESIRED_LIMIT + FRAME)
            .max_encoding_message_size(INGEST_LIMIT + FRAME);
        Ok(Line { client, token })
    }

    /// A call that carries the token and the cluster's id.
    pub fn request<T>(&self, token: &Token, message: T) -> Result<Request<T>, LinkError> {
        let mut request = Request::new(message);
        let mut bearer: MetadataValue<_> = format!("Bearer {}", token.secret())
            .parse()
            .map_err(|_| LinkError::Refused("the token has characters that no header can hold".to_owned()))?;
        bearer.set_sensitive(true);
        request.metadata_mut().insert("authorization", bearer);
        let cluster =
            self.settings.cluster.to_string().parse().map_err(LinkError::at("write the cluster id"))?;
        request.metadata_mut().insert(CLUSTER_HEADER, cluster);
        Ok(request)
    }

    /// The answer to a challenge.
    pub fn hello(&self, nonce: &[u8], token: &Token, spooled_epochs: Vec<u64>) -> Hello {
        let cluster = self.settings.cluster.to_string();
        let signed = hello_bytes(nonce, &cluster, &self.settings.pod_uid, &token.sha256());
        Hello {
            epoch: self.epoch,
            pod_uid: self.settings.pod_uid.clone(),
            public_key: self.key.public().to_vec().into(),
            signature: self.key.sign(&signed).to_vec().into(),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            kubernetes_version: self.home.kubernetes_version.clone(),
            spooled_epochs,
            jwks: self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            accepted_generation: 0,
            holds_leases: true,
            takes_changes: false,
            renewals: Some(self.lease.noted()),
        }
    }
}

/// What the server's last word means for us. A second agent that may not follow the one in charge stays and asks again:
/// starting over would only grow its epoch until it takes over from an agent that is alive.
pub fn refusal(refused: Refused) -> LinkError {
    let pause = Duration::from_millis(refused.retry_after_ms);
    match refused.code() {
        Code::Superseded | Code::Duplicate if refused.epoch_above > 0 => {
            LinkError::Replaced { message: refused.message, epoch_above: refused.epoch_above }
        }
        code => {
            if code != Code::Drain {
                tracing::warn!(reason = refused.message, "the control plane refused us");
            }
            LinkError::ComeAgain(pause)
        }
    }
}

/// An error with everything behind it, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: Code, epoch_above: u64) -> LinkError {
        let message = "a second agent".to_owned();
        refusal(Refused { code: code.into(), message, retry_after_ms: 30_000, epoch_above })
    }

    #[test]
    fn only_an_agent_that_may_follow_starts_over() {
        assert!(matches!(told(Code::Duplicate, 7), LinkError::Replaced { epoch_above: 7, .. }));
        assert!(matches!(told(Code::Superseded, 7), LinkError::Replaced { .. }));
        assert!(matches!(told(Code::Duplicate, 0), LinkError::ComeAgain(pause) if pause.as_secs() == 30));
    }
}
