//! The identity of a fake cluster: a key that signs its tokens, and the token that the agent shows.

use std::path::Path;

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as URL};
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Life of a token, in seconds. The control plane takes none that lives longer than an hour.
const LIFE: u64 = 3_590;

/// One cluster's key.
pub struct Issuer(SigningKey);

impl Issuer {
    pub fn new() -> Issuer {
        Issuer(SigningKey::from_bytes(&rand::random()))
    }

    /// As the API server serves it.
    pub fn jwks(&self) -> String {
        let x = URL.encode(self.0.verifying_key().as_bytes());
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "fake", "use": "sig", "x": x}]}).to_string()
    }

    /// Writes the token of the agent's pod.
    pub fn write_token(&self, file: &Path, audience: &str, pod_uid: &str) -> Result<()> {
        let now = u64::try_from(squadron_agent::clock::now().0 / 1_000_000)?;
        let claims = json!({
            "iss": ISSUER, "aud": [audience], "sub": "system:serviceaccount:squadron:squadron-agent",
            "iat": now - 5, "nbf": now - 5, "exp": now + LIFE,
            "kubernetes.io": {"namespace": "squadron",
                "serviceaccount": {"name": "squadron-agent", "uid": "sa-1"},
                "pod": {"name": "squadron-agent-1", "uid": pod_uid}},
        });
        let part = |value: &Value| URL.encode(value.to_string());
        let signed =
            format!("{}.{}", part(&json!({"alg": "EdDSA", "kid": "fake", "typ": "JWT"})), part(&claims));
        let signature = URL.encode(self.0.sign(signed.as_bytes()).to_bytes());
        std::fs::write(file, format!("{signed}.{signature}"))?;
        Ok(())
    }
}
