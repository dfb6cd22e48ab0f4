//! The control plane end to end, on a real Postgres: the link with agents over loopback TLS and tokens signed by real
//! keys, and the API with real requests.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agent;
mod http;
mod issuer;
mod link;
mod plane;
