//! Options: what an installation may choose about the reconcilers.
//!
//! The defaults are Squadron's own: quicker than KubeRay's where its tests and users cannot tell the difference.
//! [`Options::like_kuberay`] gives KubeRay's own pace.

use std::time::Duration;

/// Choices of one agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// DNS domain of the cluster.
    pub cluster_domain: String,
    /// `-l` for the shell that starts Ray.
    pub login_shell: bool,
    /// Give head Services of type "" or ClusterIP an address of their own instead of making them headless.
    pub head_cluster_ip: bool,
    /// Delete surplus workers even when the autoscaler owns the number.
    pub random_pod_delete: bool,
    /// With `shutdownAfterJobFinishes`, delete the RayJob itself instead of only its RayCluster.
    pub delete_finished_ray_job: bool,
    pub probes: Probes,
    pub wait_for_gcs: WaitForGcs,
    /// Start the submitter while the cluster still comes up, let it wait for all nodes, and submit without `ray job submit`
    /// where that changes nothing.
    pub quick_submitter: bool,
    /// How long Ray may need to reach a terminal job status after the submitter finished.
    pub submitter_finished_timeout: Duration,
    /// How long the RayJob may stay Running after Ray's job ended.
    pub transition_grace: Duration,
    /// How long the dashboard may stay silent before the RayJob fails.
    pub status_check_timeout: Duration,
    /// How often Ray is asked about a job that has not started yet.
    pub poll_starting: Duration,
    /// How often Ray is asked about a running job.
    pub poll_running: Duration,
}

/// Probes added to Ray containers that have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probes {
    /// None.
    Off,
    /// A startup probe each second, then the usual readiness and liveness probes.
    Quick,
    /// KubeRay's: readiness after 10 s, then each 5 s.
    Patient,
}

/// How a worker waits for its head before it starts Ray.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitForGcs {
    /// No init container.
    Off,
    /// Knocks at the port five times a second, then one `ray health-check`.
    Quick,
    /// `ray health-check` each 5 s.
    Patient,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            probes: Probes::Quick,
            wait_for_gcs: WaitForGcs::Quick,
            quick_submitter: true,
            poll_starting: Duration::from_millis(500),
            poll_running: Duration::from_secs(2),
            ..Options::like_kuberay()
        }
    }
}

impl Options {
    /// KubeRay's own pace.
    pub fn like_kuberay() -> Options {
        Options {
            cluster_domain: "cluster.local".to_owned(),
            login_shell: false,
            head_cluster_ip: false,
            random_pod_delete: false,
            delete_finished_ray_job: false,
            probes: Probes::Patient,
            wait_for_gcs: WaitForGcs::Patient,
            quick_submitter: false,
            submitter_finished_timeout: Duration::from_secs(30),
            transition_grace: Duration::from_secs(300),
            status_check_timeout: Duration::from_secs(300),
            poll_starting: Duration::from_secs(3),
            poll_running: Duration::from_secs(3),
        }
    }
}
