//! A side of the measurement: who dispatches.

use std::collections::BTreeMap;

use anyhow::Result;

use super::load::Target;

/// One way to get jobs to clusters.
pub trait Side {
    /// For people.
    fn name(&self) -> &'static str;

    /// Makes this the only one that acts on the clusters.
    fn take_over(&self) -> Result<()>;

    fn target(&self) -> Result<Target>;

    /// Clusters on which it works, the workers first.
    fn clusters(&self) -> Vec<String>;

    /// Whether a process of this name takes part.
    fn is_part(&self, process: &str) -> bool;

    /// When each job with the prefix was received, in seconds since 1970, by the name of its RayJob in the worker cluster.
    fn received(&self, prefix: &str, seen: &BTreeMap<String, f64>) -> Result<BTreeMap<String, f64>>;

    /// Ends the jobs with the prefix, so that the next run finds the clusters empty.
    fn clear(&self, prefix: &str) -> Result<()>;
}
