//! Agent tokens: from the metadata of a call to what the token proves.
//!
//! Invariant: the cluster id that the caller names selects the key set; `iss` selects nothing. Only the arithmetic of the
//! signature happens here, every judgement is `squadron_core::identity`'s.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm as JwtAlgorithm, DecodingKey};
use sha2::{Digest as _, Sha256};
use squadron_core::{
    id::ClusterId,
    identity::{
        Refusal,
        claims::{self, Enrolled, Proven},
        keys::{Key, KeySet, Material},
        token::{self, Algorithm},
    },
    time::Timestamp,
};
use squadron_proto::CLUSTER_HEADER;
use tonic::metadata::MetadataMap;

/// A bearer token; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    pub fn new(text: impl Into<String>) -> BearerToken {
        BearerToken(text.into())
    }

    pub fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken([redacted])")
    }
}

/// The token and the cluster that a call names. Each must come exactly once.
pub fn from_metadata(metadata: &MetadataMap) -> Result<(ClusterId, BearerToken), Refusal> {
    let cluster = single(metadata, CLUSTER_HEADER)?.parse().map_err(|_| Refusal::Metadata)?;
    let authorization = single(metadata, "authorization")?;
    let token = authorization.strip_prefix("Bearer ").ok_or(Refusal::Metadata)?;
    Ok((cluster, BearerToken::new(token)))
}

fn single<'a>(metadata: &'a MetadataMap, name: &str) -> Result<&'a str, Refusal> {
    let mut values = metadata.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().map_err(|_| Refusal::Metadata),
        _ => Err(Refusal::Metadata),
    }
}

/// Checks a token completely against what is enrolled.
pub fn verify(
    bearer: &BearerToken,
    keys: &KeySet,
    enrolled: Enrolled<'_>,
    now: Timestamp,
) -> Result<Proven, Refusal> {
    let parts = token::split(&bearer.0)?;
    let header = token::header(&decode(parts.header)?)?;
    let key = keys.choose(&header)?;
    if !signature_matches(parts.signature, parts.signed, key) {
        return Err(Refusal::Signature);
    }
    claims::check(&decode(parts.claims)?, enrolled, now)
}

fn decode(part: &str) -> Result<Vec<u8>, Refusal> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Shape)
}

fn signature_matches(signature: &str, signed: &str, key: &Key) -> bool {
    let decoding = match &key.material {
        Material::Rsa { n, e } => DecodingKey::from_rsa_components(n, e),
        Material::Ec { x, y } => DecodingKey::from_ec_components(x, y),
        Material::Ed25519 { x } => DecodingKey::from_ed_components(x),
    };
    let algorithm = match key.algorithm {
        Algorithm::Rs256 => JwtAlgorithm::RS256,
        Algorithm::Ps256 => JwtAlgorithm::PS256,
        Algorithm::Es256 => JwtAlgorithm::ES256,
        Algorithm::Es384 => JwtAlgorithm::ES384,
        Algorithm::EdDsa => JwtAlgorithm::EdDSA,
    };
    decoding.is_ok_and(|key| {
        jsonwebtoken::crypto::verify(signature, signed.as_bytes(), &key, algorithm).unwrap_or(false)
    })
}
