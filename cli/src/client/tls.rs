//! TLS: trusts the one CA it is given, or the system's roots when it is given none.

use std::path::Path;

use reqwest::{Certificate, ClientBuilder};

use crate::config::ConfigError;

/// With a CA file only that CA counts; no other root can vouch for the server.
pub fn trust(builder: ClientBuilder, ca: Option<&Path>) -> Result<ClientBuilder, ConfigError> {
    let builder = builder.tls_version_min(reqwest::tls::Version::TLS_1_2);
    let Some(path) = ca else { return Ok(builder) };
    Ok(builder.tls_certs_only(read_ca(path)?))
}

fn read_ca(path: &Path) -> Result<Vec<Certificate>, ConfigError> {
    let pem = std::fs::read(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    let bad = |problem: String| ConfigError::BadCa { path: path.to_owned(), problem };
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| bad(error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad("it holds no PEM certificate".into()));
    }
    Ok(certificates)
}
