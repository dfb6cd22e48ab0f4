//! The API's promises: who may pass, one shape of errors, sessions, logs, changes, the document.

mod access;
mod document;
mod events;
mod logs;
mod problems;
mod ray_tail;
mod session;
