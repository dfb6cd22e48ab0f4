//! Authorisation: who may do what to which thing.
//!
//! Owns one table, role × action. Invariant: what the table does not allow is denied, and every denial names the role
//! that would be enough. Fails closed: an unknown role word is no role. Repaired by an administrator who makes a token
//! with a greater role.

use std::fmt;

/// What a person or program was given. One role per token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    /// Looks at jobs, clusters, queues, incidents and logs.
    Viewer,
    /// A viewer who also submits jobs and cancels those of their own.
    Submitter,
    /// On call: cancels any job, manages queues and incidents.
    Operator,
    /// Reads usage and owns the price sheets.
    Finance,
    /// Reads everything, the audit log included; changes nothing.
    Auditor,
    /// May do everything.
    Admin,
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Viewer, Role::Submitter, Role::Operator, Role::Finance, Role::Auditor, Role::Admin];

    /// The word stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Submitter => "submitter",
            Role::Operator => "operator",
            Role::Finance => "finance",
            Role::Auditor => "auditor",
            Role::Admin => "admin",
        }
    }

    pub fn from_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.word() == word)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Actor {
    pub subject: String,
    pub role: Role,
}

/// What somebody wants to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Jobs, their timeline, pods and blockers.
    ReadJobs,
    /// What a job printed.
    ReadLogs,
    SubmitJob,
    /// The object is the job's owner.
    CancelJob,
    ReadQueues,
    ManageQueues,
    /// Queues with quotas, flavors and priority classes, as they are declared.
    WritePolicy,
    ReadClusters,
    /// Add, accept and revoke clusters.
    ManageClusters,
    ReadIncidents,
    ManageIncidents,
    ReadUsage,
    ReadPrices,
    WritePrices,
    ManageTokens,
    ReadAudit,
    /// Say that nothing runs on a silent cluster any more.
    VouchForLoss,
    /// Let a queue's jobs run twice at once when a cluster is lost.
    AllowOverlap,
}

impl Action {
    pub const ALL: [Action; 18] = [
        Action::ReadJobs,
        Action::ReadLogs,
        Action::SubmitJob,
        Action::CancelJob,
        Action::ReadQueues,
        Action::ManageQueues,
        Action::WritePolicy,
        Action::ReadClusters,
        Action::ManageClusters,
        Action::ReadIncidents,
        Action::ManageIncidents,
        Action::ReadUsage,
        Action::ReadPrices,
        Action::WritePrices,
        Action::ManageTokens,
        Action::ReadAudit,
        Action::VouchForLoss,
        Action::AllowOverlap,
    ];

    /// The action as a phrase that follows "may not".
    pub fn phrase(self) -> &'static str {
        match self {
            Action::ReadJobs => "read jobs",
            Action::ReadLogs => "read logs",
            Action::SubmitJob => "submit jobs",
            Action::CancelJob => "cancel this job",
            Action::ReadQueues => "read queues",
            Action::ManageQueues => "change queues",
            Action::WritePolicy => "change policy",
            Action::ReadClusters => "read clusters",
            Action::ManageClusters => "change clusters",
            Action::ReadIncidents => "read incidents",
            Action::ManageIncidents => "change incidents",
            Action::ReadUsage => "read usage",
            Action::ReadPrices => "read price sheets",
            Action::WritePrices => "change price sheets",
            Action::ManageTokens => "change tokens",
            Action::ReadAudit => "read the audit log",
            Action::VouchForLoss => "say that a cluster is dead",
            Action::AllowOverlap => "allow two copies of a job at once",
        }
    }
}

/// What the action is done to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object<'a> {
    /// The kind of thing as a whole.
    Any,
    /// One thing that belongs to a subject.
    OwnedBy(&'a str),
}

/// How far a role's permission for an action reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reach {
    No,
    Own,
    All,
}

/// The table. Columns: viewer, submitter, operator, finance, auditor, admin.
fn row(action: Action) -> [Reach; 6] {
    use Reach::{All as A, No as n, Own as o};
    match action {
        Action::ReadJobs => [A, A, A, A, A, A],
        Action::ReadLogs => [A, A, A, n, A, A],
        Action::SubmitJob => [n, A, A, n, n, A],
        Action::CancelJob => [n, o, A, n, n, A],
        Action::ReadQueues => [A, A, A, A, A, A],
        Action::ManageQueues => [n, n, A, n, n, A],
        Action::WritePolicy => [n, n, n, n, n, A],
        Action::ReadClusters => [A, A, A, A, A, A],
        Action::ManageClusters => [n, n, n, n, n, A],
        Action::ReadIncidents => [A, A, A, A, A, A],
        Action::ManageIncidents => [n, n, A, n, n, A],
        Action::ReadUsage => [A, A, A, A, A, A],
        Action::ReadPrices => [A, A, A, A, A, A],
        Action::WritePrices => [n, n, n, A, n, A],
        Action::ManageTokens => [n, n, n, n, n, A],
        Action::ReadAudit => [n, n, n, n, A, A],
        Action::VouchForLoss => [n, n, A, n, n, A],
        Action::AllowOverlap => [n, n, n, n, n, A],
    }
}

fn reach(role: Role, action: Action) -> Reach {
    let column = Role::ALL.iter().position(|each| *each == role).unwrap_or(0);
    row(action)[column]
}

/// Why an action is not allowed, in one sentence, with the next step.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{sentence}")]
pub struct Denied {
    pub sentence: String,
    pub next_step: String,
}

/// Whether `actor` may do `action` to `object`.
pub fn allow(actor: &Actor, action: Action, object: Object<'_>) -> Result<(), Denied> {
    match (reach(actor.role, action), object) {
        (Reach::All, _) => Ok(()),
        (Reach::Own, Object::OwnedBy(owner)) if owner == actor.subject => Ok(()),
        (Reach::Own, Object::OwnedBy(owner)) => Err(denied(actor, action, &format!(" of {owner}"))),
        (Reach::Own, Object::Any) | (Reach::No, _) => Err(denied(actor, action, "")),
    }
}

fn denied(actor: &Actor, action: Action, whose: &str) -> Denied {
    Denied {
        sentence: format!(
            "{} has the role {} and may not {}{whose}",
            actor.subject,
            actor.role,
            action.phrase()
        ),
        next_step: format!("ask an administrator for a token with the role {}", enough(action)),
    }
}

/// The roles that may do the action to anything, as people read it.
fn enough(action: Action) -> String {
    let words: Vec<&str> =
        Role::ALL.into_iter().filter(|role| reach(*role, action) == Reach::All).map(Role::word).collect();
    words.join(" or ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn actor(role: Role) -> Actor {
        Actor { subject: "ann".into(), role }
    }

    #[test]
    fn an_administrator_may_do_everything_and_an_auditor_changes_nothing() {
        let changes = [
            Action::SubmitJob,
            Action::CancelJob,
            Action::ManageQueues,
            Action::WritePolicy,
            Action::ManageClusters,
            Action::ManageIncidents,
            Action::WritePrices,
            Action::ManageTokens,
            Action::VouchForLoss,
            Action::AllowOverlap,
        ];
        for action in Action::ALL {
            assert_eq!(allow(&actor(Role::Admin), action, Object::OwnedBy("bob")), Ok(()));
            let audited = allow(&actor(Role::Auditor), action, Object::OwnedBy("ann"));
            assert_eq!(audited.is_err(), changes.contains(&action), "{action:?}");
        }
    }

    #[test]
    fn a_submitter_cancels_only_jobs_of_their_own() {
        let submitter = actor(Role::Submitter);
        assert!(allow(&submitter, Action::CancelJob, Object::OwnedBy("ann")).is_ok());
        let denied = allow(&submitter, Action::CancelJob, Object::OwnedBy("bob")).unwrap_err();
        assert_eq!(denied.sentence, "ann has the role submitter and may not cancel this job of bob");
        assert_eq!(denied.next_step, "ask an administrator for a token with the role operator or admin");
        assert!(allow(&submitter, Action::CancelJob, Object::Any).is_err());
    }

    #[test]
    fn only_finance_and_administrators_write_prices() {
        for role in Role::ALL {
            let expected = matches!(role, Role::Finance | Role::Admin);
            assert_eq!(allow(&actor(role), Action::WritePrices, Object::Any).is_ok(), expected, "{role}");
        }
    }

    #[test]
    fn role_words_round_trip_and_others_are_no_role() {
        for role in Role::ALL {
            assert_eq!(Role::from_word(role.word()), Some(role));
        }
        assert_eq!(Role::from_word("root"), None);
    }
}
