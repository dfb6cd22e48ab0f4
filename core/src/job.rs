//! Job states: one word each for what a job and its attempts are doing, as people see it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a job is doing, as CLI, API and console show it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for a placement; its blockers say why.
    Queued,
    /// An attempt names a cluster; the agent has not confirmed it yet.
    Assigned,
    /// The RayJob exists in the cluster; pods are coming up or the driver is being submitted.
    Starting,
    /// Ray runs the driver.
    Running,
    /// A person asked for the end, or the dispatcher stops it for another job; the agent has not confirmed it yet.
    Stopping,
    Succeeded,
    Failed,
    Cancelled,
}

impl JobState {
    pub const ALL: [JobState; 8] = [
        JobState::Queued,
        JobState::Assigned,
        JobState::Starting,
        JobState::Running,
        JobState::Stopping,
        JobState::Succeeded,
        JobState::Failed,
        JobState::Cancelled,
    ];

    /// No event can change a terminal state.
    pub fn is_terminal(self) -> bool {
        matches!(self, JobState::Succeeded | JobState::Failed | JobState::Cancelled)
    }

    /// The word stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            JobState::Queued => "queued",
            JobState::Assigned => "assigned",
            JobState::Starting => "starting",
            JobState::Running => "running",
            JobState::Stopping => "stopping",
            JobState::Succeeded => "succeeded",
            JobState::Failed => "failed",
            JobState::Cancelled => "cancelled",
        }
    }

    pub fn from_word(word: &str) -> Option<JobState> {
        JobState::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Labels, annotations and environment names that carry our identity into a cluster.
pub mod marks {
    /// Label: the job's id, on the RayJob, its RayCluster and its pods.
    pub const JOB_ID: &str = "squadron.dev/job-id";
    /// Label: the attempt number, on the same objects.
    pub const ATTEMPT: &str = "squadron.dev/attempt";
    /// Label: the queue; `/` is written as `.` because label values cannot hold it.
    pub const QUEUE: &str = "squadron.dev/queue";
    /// Annotation of a RayJob that waits for Squadron: the only cluster that it may run on.
    pub const CLUSTER: &str = "squadron.dev/cluster";
    /// Annotation of a RayJob that was imported: `<job id>.<its own uid>`. A copy has another uid, so it is no mark there.
    pub const IMPORTED_AS: &str = "squadron.dev/imported-as";
    /// Annotation: what happens to the job when its cluster is lost (`wait`, `fence`, `rerun`); a wish in the manifest, the
    /// decision on the RayJob.
    pub const ON_LOST: &str = "squadron.dev/on-lost";
    /// Annotation of the manifest: `true` if the job goes on from its last checkpoint when it starts again.
    pub const RESUMES: &str = "squadron.dev/resumes";
    /// Annotation of the manifest: where the job writes its checkpoints.
    pub const CHECKPOINT: &str = "squadron.dev/checkpoint";
    /// Annotation of a running attempt's RayJob: when the job last wrote a checkpoint, in RFC 3339. The job writes it.
    pub const CHECKPOINTED_AT: &str = "squadron.dev/checkpointed-at";
    /// Annotation of the manifest: `true` if its pods are to stop user code by themselves when the lease ends.
    pub const WATCHDOG: &str = "squadron.dev/watchdog";
    /// Environment of every Ray container: where the job writes its checkpoints, if it says so.
    pub const ENV_CHECKPOINT: &str = "SQUADRON_CHECKPOINT";
    /// Environment of every Ray container from the second attempt on: why the one before ended.
    pub const ENV_BEFORE: &str = "SQUADRON_BEFORE";
    /// Environment of every Ray container: the attempt number.
    pub const ENV_ATTEMPT: &str = "SQUADRON_ATTEMPT";
    /// Environment of every Ray container: the job id.
    pub const ENV_JOB_ID: &str = "SQUADRON_JOB_ID";
}
