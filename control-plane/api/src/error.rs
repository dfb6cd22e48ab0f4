//! Errors people see: a stable code, a sentence, the next step, a request id. Body type `application/problem+json`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of every answer with a status of 400 and above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Stable, for example `SQD-1203`; listed in docs/errors.md.
    pub code: String,
    pub status: u16,
    /// What is wrong, in one sentence.
    pub detail: String,
    /// What to do about it, in one sentence.
    pub next_step: String,
    pub request_id: String,
    /// The fields that are wrong, where the request had fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldProblem>,
}

/// One wrong field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldProblem {
    /// For example `spec.rayClusterSpec.headGroupSpec`.
    pub path: String,
    pub problem: String,
}

/// Stable codes: number, HTTP status and the name used in code.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $status:literal;)*) => {
        /// A stable error code.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$name,)*];
            /// As shown: `SQD-1001`.
            pub fn text(self) -> &'static str {
                match self { $(Code::$name => concat!("SQD-", $number),)* }
            }
            pub fn status(self) -> u16 {
                match self { $(Code::$name => $status,)* }
            }
        }
    };
}

codes! {
    /// The request itself cannot be read.
    BadRequest = "1000", 400;
    /// No or no valid credentials.
    Unauthenticated = "1001", 401;
    /// The caller may not do this.
    Denied = "1002", 403;
    /// The named thing does not exist (or may not be seen).
    NotFound = "1003", 404;
    /// The thing is in a state that forbids this.
    Conflict = "1004", 409;
    /// The body is larger than allowed.
    TooLarge = "1005", 413;
    /// Too many requests; the Retry-After header says when.
    TooMany = "1006", 429;
    /// The server failed; the request id finds it in the log.
    Internal = "1007", 500;
    /// The database cannot be reached at the moment.
    Unavailable = "1008", 503;
    /// The manifest is no valid RayJob.
    InvalidManifest = "1201", 422;
    /// The manifest names a queue that does not exist.
    UnknownQueue = "1203", 422;
    /// The same idempotency key came with another body.
    IdempotencyMismatch = "1204", 409;
    /// The submission names a priority class that does not exist.
    UnknownPriorityClass = "1205", 422;
    /// The price sheet is refused.
    InvalidPriceSheet = "1301", 422;
    /// The policy is refused.
    InvalidPolicy = "1302", 422;
    /// A name is already taken.
    NameTaken = "1401", 409;
    /// The cluster has not offered its identity yet.
    NotEnrolled = "1402", 409;
}
