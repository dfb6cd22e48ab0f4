//! Identity: whether a projected service-account token speaks for an enrolled cluster.
//!
//! Owns every check of a token except the signature's arithmetic, which the caller does between [`keys::KeySet::choose`]
//! and [`claims::check`]. Invariant: the key comes from the cluster's enrolled set and the algorithm from that key;
//! neither ever comes from the token. Fails closed: the first check that fails names its [`Refusal`], which is logged
//! and audited while the peer hears one constant text. Repaired by the agent, which shows a fresh token, or by an
//! administrator, who accepts the cluster's new identity.

pub mod claims;
pub mod keys;
pub mod token;

/// Why a token is refused. For the log and the audit, never for the peer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the call brings no single authorization value with a bearer token")]
    Metadata,
    #[error("the token is longer than {} bytes", token::LIMIT)]
    TooLong,
    #[error("the token is not three base64url parts without padding")]
    Shape,
    #[error("the token's header cannot be read: {0}")]
    Header(String),
    #[error("the token's type is not JWT")]
    Type,
    #[error("the algorithm is not one of RS256, ES256, ES384, PS256, EdDSA")]
    Algorithm,
    #[error("the token's header carries {0}, which is not allowed")]
    ForbiddenHeader(&'static str),
    #[error("the key id is longer than 128 characters or not printable")]
    KeyIdShape,
    #[error("the cluster has no key with the token's key id")]
    UnknownKey,
    #[error("the key with this id is for another algorithm")]
    OtherAlgorithm,
    #[error("the signature does not match")]
    Signature,
    #[error("the claims cannot be read: {0}")]
    Claims(String),
    #[error("the issuer is not the enrolled one")]
    Issuer,
    #[error("the token names no single audience")]
    AudienceCount,
    #[error("the audience is not this control plane and cluster")]
    Audience,
    #[error("the token is not valid yet")]
    NotYet,
    #[error("the token was issued in the future")]
    IssuedInFuture,
    #[error("the token expired")]
    Expired,
    #[error("the token's lifetime is not between 1 s and an hour")]
    Lifetime,
    #[error("the token is not bound to a pod")]
    NoPod,
    #[error("the token's subject contradicts its own details")]
    Contradiction,
    #[error("the subject is not the enrolled service account")]
    Subject,
    #[error("the service account was made again since it was enrolled")]
    ServiceAccountUid,
}
