//! Nouns and deciders of Squadron.
//!
//! Owns every judgement about clusters, jobs, attempts, incidents and money. Invariant: nothing here does I/O,
//! reads a clock or draws a random number; same input, same output. Bad items come back as values with a reason.

pub mod arrival;
pub mod attempt;
pub mod authz;
pub mod desired;
pub mod dispatch;
pub mod fact;
pub mod fencing;
pub mod id;
pub mod identity;
pub mod incident;
pub mod job;
pub mod lease;
pub mod link;
pub mod meter;
pub mod name;
pub mod named;
pub mod nearest;
pub mod nesting;
pub mod placement;
pub mod preference;
pub mod quantity;
pub mod quota;
pub mod resources;
pub mod sentence;
pub mod silence;
pub mod time;
pub mod timeline;
pub mod watermark;
