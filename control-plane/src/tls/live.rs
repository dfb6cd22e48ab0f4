//! The certificate in use, which can be replaced under running listeners.

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{Source, TlsError};

const LOOK_EVERY: Duration = Duration::from_secs(3_600);

/// Hands every handshake the newest certificate.
#[derive(Debug)]
pub struct Live(RwLock<Arc<CertifiedKey>>);

impl Live {
    pub fn new(source: &Source) -> Result<Arc<Live>, TlsError> {
        Ok(Arc::new(Live(RwLock::new(Arc::new(source.current()?)))))
    }

    fn replace(&self, key: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
    }
}

impl ResolvesServerCert for Live {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

/// Looks every hour whether there is, or must be, a newer certificate. A failure keeps the old one and is logged.
pub async fn renew_forever(source: Source, live: Arc<Live>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let source = source.clone();
        match tokio::task::spawn_blocking(move || source.current()).await {
            Ok(Ok(key)) => live.replace(key),
            Ok(Err(error)) => {
                tracing::error!(%error, "the certificate could not be renewed; the old one stays");
            }
            Err(error) => tracing::error!(%error, "the renewal of the certificate ended badly"),
        }
    }
}
