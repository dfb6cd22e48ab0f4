//! The link end to end: a real control plane on a real Postgres, agents over loopback TLS, tokens signed by real keys.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agent;
mod attack;
mod enrol;
mod fencing;
mod ingest;
mod issuer;
mod outage;
mod plane;
mod standing;
