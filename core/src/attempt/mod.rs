//! Attempts: decides what a job and its newest attempt become when something happens to them.
//!
//! Owns the life of a job: [`advance`] is its only way from one state to the next. Invariant: a terminal state is final;
//! an attempt is touched only by facts that name it and come from its own cluster; a cancelled attempt ends only when
//! its agent says that nothing of it is left. A word that changes nothing comes back as [`Refused`] with the reason, so
//! repeated and late facts cost nothing. Repaired by: the next fact, which is read against the state as it then stands.

#[cfg(test)]
mod adopted_tests;
mod advance;
mod facts;
mod found;
mod loss;
mod name;
mod pods;
mod preempt;
#[cfg(test)]
mod preempt_tests;
mod ray_job;
pub mod rules;
#[cfg(test)]
mod tests;

pub use crate::attempt::{
    advance::advance,
    found::{Found, TakenBack, let_go, take_back},
    name::object_name,
    pods::{is_image_trouble, is_oom_killed, pod_reason, quoted_image, telling_container},
};

use std::fmt;

use crate::{
    fact::{Fact, PodFact},
    id::{AttemptId, ClusterId, JobId},
    job::JobState,
    lease::{Proof, Verdict},
    time::Timestamp,
};

/// What one placement of a job is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AttemptState {
    /// Committed here; the agent has not said that the RayJob exists.
    Assigned,
    Starting,
    Running,
    /// Not desired any more; the agent has not said that it is gone.
    Stopping,
    Succeeded,
    Failed,
    Cancelled,
    /// Nothing of it runs any more, or a second copy is allowed; its job waits for another attempt.
    Lost,
    /// It was stopped to make room for another job, and is gone; its job waits for another attempt.
    Preempted,
}

impl AttemptState {
    pub const ALL: [AttemptState; 9] = [
        AttemptState::Assigned,
        AttemptState::Starting,
        AttemptState::Running,
        AttemptState::Stopping,
        AttemptState::Succeeded,
        AttemptState::Failed,
        AttemptState::Cancelled,
        AttemptState::Lost,
        AttemptState::Preempted,
    ];

    pub fn is_terminal(self) -> bool {
        self.is_tried_again() || self.job_state().is_terminal()
    }

    /// It is over and its job is not.
    pub fn is_tried_again(self) -> bool {
        matches!(self, AttemptState::Lost | AttemptState::Preempted)
    }

    /// The state of a job whose newest attempt is in this state.
    pub fn job_state(self) -> JobState {
        match self {
            AttemptState::Assigned => JobState::Assigned,
            AttemptState::Starting => JobState::Starting,
            AttemptState::Running => JobState::Running,
            AttemptState::Stopping => JobState::Stopping,
            AttemptState::Succeeded => JobState::Succeeded,
            AttemptState::Failed => JobState::Failed,
            AttemptState::Cancelled => JobState::Cancelled,
            AttemptState::Lost | AttemptState::Preempted => JobState::Queued,
        }
    }

    /// The word stored and shown; the same as the job's, but for `lost` and `preempted`.
    pub fn word(self) -> &'static str {
        match self {
            AttemptState::Lost => "lost",
            AttemptState::Preempted => "preempted",
            other => other.job_state().word(),
        }
    }

    pub fn from_word(word: &str) -> Option<AttemptState> {
        AttemptState::ALL.into_iter().find(|state| state.word() == word)
    }
}

impl fmt::Display for AttemptState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Words for [`Job::reason`] that deciders and tests share.
pub mod reason {
    pub const IMAGE_PULL: &str = "IMAGE_PULL";
    pub const UNSCHEDULABLE: &str = "UNSCHEDULABLE";
    pub const CRASH_LOOP: &str = "CRASH_LOOP";
    pub const OOM_KILLED: &str = "OOM_KILLED";
    pub const CLUSTER_DELETED: &str = "CLUSTER_DELETED";
    pub const RETRYING: &str = "RETRYING";
    pub const SUSPENDED: &str = "SUSPENDED";
    pub const REFUSED: &str = "REFUSED";
    pub const REMOVED: &str = "REMOVED";
    pub const STOPPED_IN_RAY: &str = "STOPPED_IN_RAY";
    pub const CANCELLED: &str = "CANCELLED";
    pub const CLUSTER_SILENT: &str = "CLUSTER_SILENT";
    pub const CLUSTER_LOST: &str = "CLUSTER_LOST";
    pub const LEASE_ENDED: &str = "LEASE_ENDED";
    pub const PREEMPTED: &str = "PREEMPTED";
}

/// A job with its newest attempt, as the decider sees and returns it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    pub id: JobId,
    /// The manifest's name.
    pub name: String,
    pub namespace: String,
    pub state: JobState,
    /// Short machine word for the cause; empty when the state says all.
    pub reason: String,
    /// One plain sentence on what the job is doing and why.
    pub sentence: String,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub cancel_requested_at: Option<Timestamp>,
    pub cancelled_by: String,
    pub cancel_reason: String,
    pub attempt: Option<Attempt>,
}

/// The newest placement of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    pub number: u32,
    pub cluster: ClusterId,
    pub cluster_name: String,
    /// Name of the RayJob in the cluster.
    pub object_name: String,
    /// Why this cluster was chosen.
    pub chosen_because: String,
    pub state: AttemptState,
    pub ended_because: String,
    pub assigned_at: Timestamp,
    /// The agent said that the RayJob exists.
    pub created_at: Option<Timestamp>,
    pub running_at: Option<Timestamp>,
    /// When the job last wrote a checkpoint in this attempt, as far as it said.
    pub checkpointed_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Whether the cluster should hold the RayJob.
    pub desired: bool,
    pub removed_at: Option<Timestamp>,
}

/// Something that happened to a job.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The dispatcher chose a cluster.
    Assigned { cluster: ClusterId, cluster_name: &'a str, because: &'a str },
    /// A person asked for the end; `why` may be empty.
    CancelRequested { by: &'a str, why: &'a str },
    /// The dispatcher stops it to make room for another job; a clause says for which, and why.
    Preempted { because: &'a str },
    /// A cluster said something; `pods` are all pods of the attempt known by now, live and gone.
    Fact { from: ClusterId, fact: &'a Fact, pods: &'a [PodFact] },
    /// The agent applied a desired state without this attempt, and never said that it created the RayJob.
    NeverCreated,
    /// The cluster is silent, and this is what it means for the attempt.
    Silent { verdict: &'a Verdict },
    /// The cluster is heard again.
    Heard,
    /// Nothing of the attempt runs any more, or a second copy is allowed.
    NothingRuns { proof: &'a Proof },
    /// A cluster holds an attempt that the database forgot in a failover; `exists`: something of it was seen there.
    Adopted { cluster: ClusterId, cluster_name: &'a str, number: u32, exists: bool },
    /// The finished RayJob was kept as long as the operator wants.
    RetentionOver,
}

/// What a job becomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub job: Job,
    /// The cluster whose set of desired attempts changed; its generation must grow in the same transaction.
    pub desired_changed: Option<ClusterId>,
}

/// Why an event changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    #[error("the job is {0} already, and that is final")]
    Final(JobState),
    #[error("the job is {0} and cannot be assigned")]
    NotWaiting(JobState),
    #[error("the end was requested already")]
    AlreadyStopping,
    #[error("the fact speaks of attempt {0}, which is not the job's newest")]
    OtherAttempt(AttemptId),
    #[error("the fact comes from a cluster that does not hold the attempt")]
    OtherCluster,
    #[error("the fact speaks of another RayJob, which only carries the attempt's labels")]
    OtherObject,
    #[error("it changes nothing: {0}")]
    Nothing(&'static str),
}

impl Job {
    /// The id of the newest attempt.
    pub fn attempt_id(&self) -> Option<AttemptId> {
        self.attempt.as_ref().map(|attempt| AttemptId { job: self.id, number: attempt.number })
    }
}
