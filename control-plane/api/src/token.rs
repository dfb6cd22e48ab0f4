//! Tokens: what programs and people without single sign-on show.

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;
use utoipa::ToSchema;

/// `POST /api/v1/tokens`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTokenRequest {
    /// Whose actions these are, for example `ann` or `ci`.
    pub subject: String,
    /// `viewer`, `submitter`, `operator`, `finance`, `auditor` or `admin`.
    pub role: String,
    /// Days until it ends; 90 by default, 365 at most.
    #[serde(default)]
    pub days: Option<u32>,
}

/// The new token; its secret is shown once.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct AddTokenReply {
    pub token: Token,
    /// Begins with `sqd_`.
    pub secret: String,
}

impl std::fmt::Debug for AddTokenReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddTokenReply").field("token", &self.token).field("secret", &"[redacted]").finish()
    }
}

/// A token as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    pub id: String,
    pub subject: String,
    pub role: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
}
