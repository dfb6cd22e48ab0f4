//! A RayJob's status: which state of ours it means.
//!
//! RayJob has two axes that may contradict each other. `deployment_status` says what the reconciler is doing, and
//! `job_status` what Ray says of the driver; an end needs the first, and the second only tells kinds of ends apart.

use crate::{attempt::reason, fact::RayJobFact, sentence::clip};

/// Ray's job manager writes this between its own words and the tail of the driver's output.
const LOGS_FOLLOW: &str = ", last available logs";

/// What a RayJob's status means for its attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// Pods come up or the driver is being submitted; `reason` may be empty.
    Starting {
        reason: &'static str,
        note: String,
    },
    Running,
    Succeeded,
    /// The driver was stopped through Ray.
    Stopped,
    Failed {
        reason: String,
        why: String,
    },
    /// The object is gone.
    Gone,
}

pub(crate) fn meaning(fact: &RayJobFact) -> Meaning {
    if fact.gone {
        return Meaning::Gone;
    }
    match (fact.deployment_status.as_str(), fact.job_status.as_str()) {
        ("Complete", "STOPPED") => Meaning::Stopped,
        ("Complete", "FAILED") | ("Failed" | "ValidationFailed", _) => failed(fact),
        ("Complete", _) => Meaning::Succeeded,
        ("Running", "PENDING") => {
            Meaning::Starting { reason: "", note: "Ray has the driver and starts it".to_owned() }
        }
        ("Running", "") => Meaning::Starting { reason: "", note: submission(&fact.message) },
        ("Running", _) => Meaning::Running,
        ("Retrying", _) => Meaning::Starting {
            reason: reason::RETRYING,
            note: "the last try failed and the RayJob's backoffLimit allows another".to_owned(),
        },
        ("Suspending" | "Suspended", _) => Meaning::Starting {
            reason: reason::SUSPENDED,
            note: "the RayJob is suspended in its cluster".to_owned(),
        },
        _ => Meaning::Starting { reason: "", note: String::new() },
    }
}

/// What keeps the driver from Ray, as the reconciler says it.
fn submission(message: &str) -> String {
    let said = clip(message.lines().next().unwrap_or_default(), 240);
    if said.is_empty() { "its driver is being submitted to Ray".to_owned() } else { said }
}

fn failed(fact: &RayJobFact) -> Meaning {
    let reason = match fact.reason.as_str() {
        "" if fact.deployment_status == "ValidationFailed" => "VALIDATION_FAILED".to_owned(),
        "" => "APP_FAILED".to_owned(),
        other => screaming(other),
    };
    Meaning::Failed { why: why(fact, &reason), reason }
}

/// The cause as a clause, from the reason and RayJob's own message.
fn why(fact: &RayJobFact, reason: &str) -> String {
    let cause = match reason {
        "APP_FAILED" => "the driver failed",
        "SUBMISSION_FAILED" => "the driver could not be submitted to Ray",
        "DEADLINE_EXCEEDED" => "it ran longer than its activeDeadlineSeconds",
        "PRE_RUNNING_DEADLINE_EXCEEDED" => "it did not start running before its deadline",
        "VALIDATION_FAILED" => "the RayJob breaks a rule of ray.io/v1",
        _ => "the RayJob failed",
    };
    let (said, last_words) = halves(&fact.message);
    let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
    let last_words = if last_words.is_empty() { String::new() } else { format!(": {last_words}") };
    format!("{cause}{said}{last_words}")
}

/// What Ray says of the end, and the last line of the driver's output that Ray puts behind it, if any.
fn halves(message: &str) -> (String, String) {
    let (said, output) = message.split_once(LOGS_FOLLOW).unwrap_or((message, ""));
    let said = clip(said.lines().next().unwrap_or_default(), 240);
    let last = output.lines().skip(1).map(|line| clip(&without_escapes(line), 240));
    (said, last.filter(|line| !line.is_empty()).last().unwrap_or_default())
}

/// `line` without the escape sequences that colour it.
fn without_escapes(line: &str) -> String {
    let mut pieces = line.split('\u{1b}');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        out.push_str(
            piece.strip_prefix('[').and_then(|rest| rest.split_once('m')).map_or(piece, |(_, rest)| rest),
        );
    }
    out
}

/// `AppFailed` as `APP_FAILED`, at most 60 characters.
fn screaming(camel: &str) -> String {
    let mut out = String::new();
    for c in camel.chars().filter(char::is_ascii_alphanumeric).take(50) {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(deployment: &str, job: &str) -> RayJobFact {
        RayJobFact { deployment_status: deployment.into(), job_status: job.into(), ..RayJobFact::default() }
    }

    #[test]
    fn every_pair_of_words_has_a_meaning() {
        let deployments = [
            "",
            "Initializing",
            "Waiting",
            "Running",
            "Complete",
            "Failed",
            "ValidationFailed",
            "Suspending",
            "Suspended",
            "Retrying",
            "Scheduled",
            "garbage",
        ];
        for deployment in deployments {
            for job in ["", "PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED", "garbage"] {
                let ends =
                    !matches!(meaning(&fact(deployment, job)), Meaning::Starting { .. } | Meaning::Running);
                assert_eq!(
                    ends,
                    matches!(deployment, "Complete" | "Failed" | "ValidationFailed"),
                    "{deployment}/{job}"
                );
            }
        }
    }

    #[test]
    fn a_driver_that_says_succeeded_before_the_reconciler_is_still_running() {
        assert_eq!(meaning(&fact("Running", "SUCCEEDED")), Meaning::Running);
    }

    #[test]
    fn a_failure_keeps_ray_s_words_on_one_line() {
        let failure = RayJobFact {
            reason: "AppFailed".into(),
            message: "Job entrypoint command failed with exit code 1\nTraceback…".into(),
            ..fact("Failed", "FAILED")
        };
        assert_eq!(
            meaning(&failure),
            Meaning::Failed {
                reason: "APP_FAILED".into(),
                why: "the driver failed (Job entrypoint command failed with exit code 1)".into()
            }
        );
        let with_output = RayJobFact {
            message: "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):\n\
                      Traceback (most recent call last):\n\u{1b}[31mZeroDivisionError: division by zero\u{1b}[0m\n\n"
                .into(),
            ..failure
        };
        let why = "the driver failed (Job entrypoint command failed with exit code 1): \
                   ZeroDivisionError: division by zero";
        assert_eq!(meaning(&with_output), Meaning::Failed { reason: "APP_FAILED".into(), why: why.into() });
        assert_eq!(screaming("PreRunningDeadlineExceeded"), "PRE_RUNNING_DEADLINE_EXCEEDED");
    }
}
