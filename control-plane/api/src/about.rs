//! What answers, and as whom it sees the caller.

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;
use utoipa::ToSchema;

/// `GET /api/v1/version`; needs no credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct About {
    pub version: String,
    /// The control plane's clock, so that a client can see how far its own is off.
    #[schema(value_type = String, format = DateTime)]
    pub now: Timestamp,
}

/// `GET /api/v1/me`: the caller as the server knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    pub subject: String,
    pub role: String,
}

/// `POST /api/v1/session`: trades a token for a cookie that scripts cannot read; answers [`Me`]. `DELETE` ends it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInRequest {
    pub token: String,
}

impl std::fmt::Debug for SignInRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignInRequest { token: [redacted] }")
    }
}
