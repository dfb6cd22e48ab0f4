//! The ray.io/v1 types and the pure reconcilers.
//!
//! Owns what RayClusters and RayJobs mean. Invariant: nothing here does I/O, reads a clock or draws a random number.
//! [`cluster::plan`] and [`job::plan`] turn a view of the API server and of Ray into a plan; the shell runs it, hands
//! back what failed, and asks again. Names, labels, conditions and reasons are those of ray.io/v1.

pub mod arrival;
pub mod bind;
pub mod bounds;
pub mod caps;
pub mod cluster;
pub mod crd;
pub mod failures;
pub mod job;
pub mod manifest;
pub mod names;
mod object;
pub mod options;
pub mod plan;
mod pod;
mod requests;
mod schema;
pub mod submission;
pub mod types;
mod validate;
pub mod view;
#[cfg(test)]
mod world;

pub use failures::Failures;
pub use options::Options;
pub use requests::pod_requests;
