//! Desired: the way of one cluster's desired set down its control stream.
//!
//! Invariant: `answers` was read before the set. A set that is older than the renewal could hold what was given up before it.
//! An agent that takes no changes gets every set whole, in one message. Repaired by the next pass of the stream.

use prost::Message as _;
use squadron_core::{
    desired::{Head, Sender},
    dispatch::soft::Cap,
    id::{AttemptId, ClusterId},
};
use squadron_proto::{
    DESIRED_LIMIT,
    link::{AttemptRef, DesiredAttempt, DesiredState, Hello, WorkerCap},
};
use squadron_ray::bind;
use squadron_store::desired::{DesiredRow, Read};

use super::{changes::Unread, stream::Session};

/// What one look at the set comes to.
pub enum Look {
    /// Nothing can be sent.
    Nothing,
    /// This is to be sent, and then another look to be taken.
    Send(DesiredState),
    /// Another look is to be taken.
    Again,
    /// The database could not be read, or it may have forgotten what the cluster holds and has yet to tell.
    Unread,
}

/// What one stream sent of it.
pub struct Desired {
    takes_changes: bool,
    sender: Sender,
}

impl Desired {
    pub fn of(said: &Hello) -> Desired {
        Desired { takes_changes: said.takes_changes, sender: Sender::new(said.accepted_generation) }
    }

    /// The agent says that it missed something.
    pub fn begin_again(&mut self) {
        self.sender.begin_again();
    }

    /// Whether a newer set is known than was sent.
    pub fn is_behind(&mut self, session: &mut Session) -> bool {
        self.sender.wants(session.desired_generation())
    }

    /// What is to be sent next; `answers` is the newest renewal that is known to be committed.
    pub async fn look(&mut self, session: &Session, answers: u64) -> Look {
        if !self.takes_changes {
            self.sender.send_whole();
        }
        if let Some(above) = self.sender.must_outgrow()
            && !outgrow(session, above).await
        {
            return Look::Unread;
        }
        if self.takes_changes {
            self.part(session, answers).await
        } else {
            self.whole(session, answers).await
        }
    }

    async fn part(&mut self, session: &Session, answers: u64) -> Look {
        let read = session.service.changes.read(session.guest.cluster, self.sender.ask()).await;
        match read {
            Err(Unread) => Look::Unread,
            Ok(None) => Look::Nothing,
            Ok(Some(read)) if read.withheld => Look::Unread,
            Ok(Some(read)) => match self.sender.take(read.moment, read.last, read.more) {
                Some(head) => Look::Send(state(head, read, answers)),
                None => Look::Again,
            },
        }
    }

    async fn whole(&mut self, session: &Session, answers: u64) -> Look {
        let read = match session.service.app.store.desired(session.guest.cluster).await {
            Ok(read) if read.withheld => return Look::Unread,
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(%error, "a desired state could not be read; trying again");
                return Look::Unread;
            }
        };
        let generation = read.moment.generation;
        let Some(head) = self.sender.take(read.moment, None, false) else { return Look::Again };
        let state = DesiredState { seq: 0, ..state(head, read, answers) };
        if state.encoded_len() + 64 <= DESIRED_LIMIT {
            return Look::Send(state);
        }
        // Heartbeats and what was sent before go on anyway.
        let message = "the cluster's desired state is longer than one message may be, and its agent is too old to take changes; \
                       update the agent or cancel some of its jobs";
        tracing::error!(cluster = session.guest.name, generation, message);
        Look::Nothing
    }

    /// What an agent's word on the generation that it applied is worth; 0 says nothing.
    pub fn applied(&self, said: u64) -> u64 {
        self.sender.applied(said)
    }
}

/// An agent never goes back to a lower generation than it holds. If our database was restored from a backup, it holds
/// one that we have yet to count to, and would leave out everything until then; so we go on above it. False when the database
/// is away.
async fn outgrow(session: &Session, held: u64) -> bool {
    let cluster: ClusterId = session.guest.cluster;
    match session.service.app.store.raise_generation(cluster, held).await {
        Ok(raised) => {
            if raised {
                let message = "the agent holds a newer desired state than we know; ours now counts as newer";
                tracing::warn!(cluster = session.guest.name, held, message);
            }
            true
        }
        Err(error) => {
            tracing::warn!(%error, "the desired state's generation could not be raised");
            false
        }
    }
}

fn state(head: Head, read: Read, answers: u64) -> DesiredState {
    DesiredState {
        generation: head.generation,
        attempts: read.set.into_iter().map(attempt).collect(),
        answers,
        base: head.base,
        removed: read.removed.iter().map(reference).collect(),
        part: head.part,
        more: head.more,
        seq: head.seq,
        timeline: read.moment.timeline,
    }
}

fn reference(attempt: &AttemptId) -> AttemptRef {
    AttemptRef { job_id: attempt.job.to_string(), number: attempt.number }
}

fn attempt(row: DesiredRow) -> DesiredAttempt {
    DesiredAttempt {
        job_id: row.id.job.to_string(),
        number: row.id.number,
        queue: row.queue,
        name: row.object_name,
        namespace: row.namespace,
        manifest: bind::in_text(row.manifest.unwrap_or_default(), &row.bound),
        on_lost: row.on_lost.word().to_owned(),
        accepted_by: row.accepted_by.map(|epoch| epoch.0),
        created: row.created,
        before: row.before,
        caps: row.caps.into_iter().map(|(group, cap)| (group, worker_cap(cap))).collect(),
    }
}

fn worker_cap(cap: Cap) -> WorkerCap {
    WorkerCap { most: cap.most, leaves: cap.leaves }
}

#[cfg(test)]
mod tests {
    use squadron_core::{
        dispatch::Bound,
        id::JobId,
        lease::Policy,
        placement::{NodeWish, Toleration},
    };
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_manifest_of_an_attempt_says_what_its_pods_are_bound_to() {
        let manifest = r#"{"spec": {"rayClusterSpec":{"headGroupSpec":{"template":{"spec":{}}}}}}"#;
        let one = Toleration { operator: "Exists".into(), ..Toleration::default() };
        let wish = NodeWish { tolerations: vec![one], ..NodeWish::default() };
        let row = |bound: Bound| DesiredRow {
            id: AttemptId { job: JobId(Uuid::nil()), number: 1 },
            queue: "research".into(),
            object_name: "train-1".into(),
            namespace: "ml".into(),
            manifest: Some(manifest.into()),
            bound,
            caps: [("w".to_owned(), Cap { most: 2, leaves: vec!["w-3".into()] })].into(),
            on_lost: Policy::Wait,
            accepted_by: None,
            created: false,
            before: String::new(),
        };
        assert_eq!(attempt(row(Bound::new())).manifest, manifest);
        let sent = attempt(row([("head".to_owned(), wish)].into())).manifest;
        assert!(sent.contains(r#""tolerations":[{"operator":"Exists"}]"#), "{sent}");
        let capped = &attempt(row(Bound::new())).caps["w"];
        assert_eq!((capped.most, capped.leaves.as_slice()), (2, &["w-3".to_owned()][..]));
        let later = DesiredRow { manifest: None, ..row(Bound::new()) };
        assert_eq!(attempt(later).manifest, "", "it travelled before");
    }
}
