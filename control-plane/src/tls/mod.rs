//! TLS of both listeners.
//!
//! Invariant: there is no plain-text listener and no switch for one. Certificates come from files that an administrator
//! gave, or from an authority of our own in the data folder. The certificate in use can be replaced while connections
//! live; new connections get the new one. Private keys are readable by our user only.

mod authority;
mod live;

use std::{path::PathBuf, sync::Arc};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

pub use self::{
    authority::Authority,
    live::{Live, renew_forever},
};

/// Why there is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot {step} {}", path.display())]
    File {
        step: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} holds no usable {what}: {problem}", path.display())]
    Pem { what: &'static str, path: PathBuf, problem: String },
    #[error("a certificate could not be made")]
    Make(#[from] rcgen::Error),
    #[error("the certificate cannot be used")]
    Use(#[from] rustls::Error),
}

/// Where certificates come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Our own authority, for these names.
    Own(Authority),
    /// Files of an administrator, read again when they change.
    Given { certificate: PathBuf, key: PathBuf, bundle: PathBuf },
}

impl Source {
    /// PEM certificates that clients need to trust us.
    pub fn bundle(&self) -> Result<String, TlsError> {
        let path = match self {
            Source::Own(authority) => authority.bundle_path(),
            Source::Given { bundle, .. } => bundle.clone(),
        };
        std::fs::read_to_string(&path).map_err(|source| TlsError::File { step: "read", path, source })
    }

    /// The certificate to serve with now; makes a new one when ours ends within a month.
    fn current(&self) -> Result<CertifiedKey, TlsError> {
        match self {
            Source::Own(authority) => {
                let (certificate, key) = authority.leaf()?;
                load(certificate, key)
            }
            Source::Given { certificate, key, .. } => load(certificate.clone(), key.clone()),
        }
    }
}

fn load(certificate: PathBuf, key: PathBuf) -> Result<CertifiedKey, TlsError> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(&certificate).and_then(Iterator::collect).map_err(|error| {
            TlsError::Pem { what: "certificate", path: certificate, problem: error.to_string() }
        })?;
    let private = PrivateKeyDer::from_pem_file(&key).map_err(|error| TlsError::Pem {
        what: "private key",
        path: key,
        problem: error.to_string(),
    })?;
    let provider = aws_lc_rs::default_provider();
    Ok(CertifiedKey::from_der(chain, private, &provider)?)
}

/// The configuration of a listener that speaks `protocols` (ALPN names, preferred first).
pub fn config(live: &Arc<Live>, protocols: &[&[u8]]) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(live.clone());
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}
