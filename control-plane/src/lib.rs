//! The control plane: the HTTP API for people, the link for agents, and the tasks between them.
//!
//! Invariant: truth lives in Postgres. Whatever this process holds in memory can be lost at any moment; its next start
//! finds everything that was answered or acknowledged.

pub mod auth;
pub mod boot;
pub mod clock;
pub mod config;
pub mod http;
pub mod link;
pub mod listen;
pub mod pg;
pub mod state;
pub mod tasks;
pub mod tls;
pub mod together;
pub mod wake;
