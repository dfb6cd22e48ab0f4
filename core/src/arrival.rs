//! Arrival: decides what becomes of a RayJob that somebody put into a cluster for Squadron to run.
//!
//! Owns the questions whether it becomes a job and what is written on it. Invariant: an object, known by its cluster and
//! uid, becomes at most one job. What carries the mark of an import and is unknown here was forgotten, and is never
//! started again. Fails safe: whatever is not allowed is refused with a sentence and the next step, and looked at again
//! when the object or the permission changes.

use crate::{
    fact::ArrivalFact,
    id::JobId,
    named::{Misnamed, PRIORITY_LABEL, Wrong},
    sentence::clip,
};

/// Words for why a RayJob was not imported.
pub mod refusal {
    pub const NOT_ALLOWED: &str = "NOT_ALLOWED";
    pub const FORGOTTEN: &str = "FORGOTTEN";
    pub const INVALID_MANIFEST: &str = "INVALID_MANIFEST";
    pub const UNKNOWN_CLUSTER: &str = "UNKNOWN_CLUSTER";
    pub const UNKNOWN_PRIORITY_CLASS: &str = "UNKNOWN_PRIORITY_CLASS";
    pub const UNKNOWN_QUEUE: &str = "UNKNOWN_QUEUE";
    pub const INNER_QUEUE: &str = "INNER_QUEUE";
}

/// What is known of the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Known {
    Nothing,
    /// It was refused, or has not been looked at.
    Refused,
    /// It became this job, from this generation of its spec.
    Imported {
        job: JobId,
        generation: i64,
        queue: String,
    },
}

/// What the object asks for, and what it may.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub fact: &'a ArrivalFact,
    pub known: &'a Known,
    /// The name of the cluster that it stands in.
    pub cluster: &'a str,
    /// Whether an administrator lets its namespace there submit to its queue.
    pub allowed: bool,
}

/// What becomes of the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It becomes a job, if its manifest is sound.
    Import,
    Refuse(Refusal),
    /// It is a job already; whether the object was changed since.
    Stays {
        edited: bool,
    },
}

/// Why not, as it is written on the object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub reason: &'static str,
    pub sentence: String,
}

/// Judges an object that stands in its cluster.
pub fn judge(question: Question<'_>) -> Verdict {
    let fact = question.fact;
    if let Known::Imported { generation, queue, .. } = question.known {
        return Verdict::Stays { edited: fact.generation > *generation || fact.queue != *queue };
    }
    if let Some(job) = fact.imported_as {
        return Verdict::Refuse(forgotten(job));
    }
    if question.allowed { Verdict::Import } else { Verdict::Refuse(not_allowed(fact, question.cluster)) }
}

fn forgotten(job: JobId) -> Refusal {
    Refusal {
        reason: refusal::FORGOTTEN,
        sentence: format!(
            "it was imported before as job {job}, of which this control plane knows nothing, as after a restored backup; it is \
             not started a second time: see whether it ran, then delete it and apply it again"
        ),
    }
}

fn not_allowed(fact: &ArrivalFact, cluster: &str) -> Refusal {
    let (namespace, queue) = (clip(&fact.namespace, 63), clip(&fact.queue, 200));
    Refusal {
        reason: refusal::NOT_ALLOWED,
        sentence: format!(
            "namespace {namespace} of cluster {cluster} may not submit to queue {queue}; an administrator can allow it: \
             squadron cluster allow-queue {cluster} {namespace} {queue}"
        ),
    }
}

/// Its manifest is not one that could be submitted.
pub fn invalid(detail: &str) -> Refusal {
    Refusal {
        reason: refusal::INVALID_MANIFEST,
        sentence: format!("{}; correct it and apply it again", clip(detail, 400)),
    }
}

/// Its annotation names a cluster that does not exist.
pub fn unknown_cluster(name: &str) -> Refusal {
    Refusal {
        reason: refusal::UNKNOWN_CLUSTER,
        sentence: format!(
            "its annotation {} names {:?}, and there is no such cluster; correct or remove the annotation",
            crate::job::marks::CLUSTER,
            clip(name, 80)
        ),
    }
}

/// Its labels name a queue or a priority class that it cannot have.
pub fn misnamed(wrong: &Misnamed) -> Refusal {
    let (reason, next) = match wrong.wrong {
        Wrong::UnknownQueue => {
            (refusal::UNKNOWN_QUEUE, format!("correct its label {}", crate::job::marks::QUEUE))
        }
        Wrong::InnerQueue => {
            (refusal::INNER_QUEUE, format!("correct its label {}", crate::job::marks::QUEUE))
        }
        Wrong::UnknownPriorityClass => (
            refusal::UNKNOWN_PRIORITY_CLASS,
            format!(
                "correct or remove its label {PRIORITY_LABEL}, or have an administrator declare the class"
            ),
        ),
    };
    Refusal { reason, sentence: format!("{}; {next}", clip(&wrong.detail, 400)) }
}

/// Who submitted it, as the audit log has it: `cluster:east/ml/train`.
pub fn actor(cluster: &str, fact: &ArrivalFact) -> String {
    format!("{}/{}", owner(cluster, &fact.namespace), clip(&fact.name, 63))
}

/// Whose the job is: a namespace of a cluster, `cluster:east/ml`.
pub fn owner(cluster: &str, namespace: &str) -> String {
    format!("cluster:{cluster}/{}", clip(namespace, 63))
}

/// What is told of a job on the object that it came from.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    pub job: JobId,
    /// What the deciders wrote.
    pub sentence: &'a str,
    /// Console page of the job.
    pub link: &'a str,
    pub edited: bool,
}

/// The sentence on the object.
pub fn message(told: &Told<'_>) -> String {
    let edited = if told.edited {
        "; the RayJob was changed after its import, which changes nothing: delete it and apply it again to run the new one"
    } else {
        ""
    };
    format!("{}{edited}; job {}, {}", clip(told.sentence, 600), told.job, told.link)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn job() -> JobId {
        "01938f2e-7a3c-7d31-9d4e-00c0ffee1234".parse().unwrap()
    }

    fn fact() -> ArrivalFact {
        ArrivalFact {
            namespace: "ml".into(),
            name: "train".into(),
            uid: "u".into(),
            queue: "research".into(),
            generation: 3,
            ..ArrivalFact::default()
        }
    }

    fn judged(fact: &ArrivalFact, known: &Known, allowed: bool) -> Verdict {
        judge(Question { fact, known, cluster: "east", allowed })
    }

    fn reason(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Refuse(refused) => refused.reason,
            Verdict::Import => "import",
            Verdict::Stays { edited: true } => "edited",
            Verdict::Stays { edited: false } => "stays",
        }
    }

    #[test]
    fn an_object_becomes_a_job_once_and_only_where_it_may() {
        let imported = |generation| Known::Imported { job: job(), generation, queue: "research".into() };
        let marked = ArrivalFact { imported_as: Some(job()), ..fact() };
        let moved = ArrivalFact { queue: "other".into(), ..fact() };
        let table = [
            (fact(), Known::Nothing, true, "import"),
            (fact(), Known::Nothing, false, "NOT_ALLOWED"),
            (fact(), Known::Refused, true, "import"),
            (fact(), Known::Refused, false, "NOT_ALLOWED"),
            (fact(), imported(3), true, "stays"),
            (fact(), imported(3), false, "stays"),
            (fact(), imported(2), true, "edited"),
            (fact(), imported(4), true, "stays"),
            (moved, imported(3), true, "edited"),
            (marked.clone(), Known::Nothing, true, "FORGOTTEN"),
            (marked.clone(), Known::Refused, true, "FORGOTTEN"),
            (marked, imported(3), true, "stays"),
        ];
        for (fact, known, allowed, expected) in table {
            assert_eq!(reason(judged(&fact, &known, allowed)), expected, "{fact:?} {known:?} {allowed}");
        }
    }

    #[test]
    fn a_wrong_name_is_told_with_the_label_to_correct() {
        let class = crate::named::class("urgent", &[]).unwrap_err();
        assert_eq!(
            misnamed(&class).sentence,
            "there is no priority class \"urgent\" (classes, the most urgent first: none); correct or remove its label \
             kueue.x-k8s.io/priority-class, or have an administrator declare the class"
        );
        let inner = crate::named::leaf("acme", &["acme/vision".to_owned()]).unwrap_err();
        assert_eq!(misnamed(&inner).reason, "INNER_QUEUE");
        assert!(misnamed(&inner).sentence.ends_with("acme/vision; correct its label squadron.dev/queue"));
    }

    #[test]
    fn a_refusal_names_the_command_that_would_allow_it() {
        let Verdict::Refuse(refused) = judged(&fact(), &Known::Nothing, false) else { panic!("allowed") };
        assert!(
            refused.sentence.ends_with("squadron cluster allow-queue east ml research"),
            "{}",
            refused.sentence
        );
    }

    #[test]
    fn what_is_written_on_the_object_says_place_reason_and_where_to_look() {
        let told = Told {
            job: job(),
            sentence: "queued in research, 2nd of 3: east is full",
            link: "https://squadron/jobs/1",
            edited: false,
        };
        assert_eq!(
            message(&told),
            "queued in research, 2nd of 3: east is full; job 01938f2e-7a3c-7d31-9d4e-00c0ffee1234, \
             https://squadron/jobs/1"
        );
        assert!(message(&Told { edited: true, ..told }).contains("delete it and apply it again"));
        assert_eq!(actor("east", &fact()), "cluster:east/ml/train");
    }
}
