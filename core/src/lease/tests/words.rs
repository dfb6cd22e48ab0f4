//! Policies, terms and reports: what people are told.

use super::*;

fn wish(policy: Option<Policy>, resumes: bool) -> Wish {
    Wish { policy, resumes, checkpoint: String::new() }
}

#[test]
fn defaults_are_wait_and_fence_for_a_job_that_can_resume() {
    let queue = QueueLease::default();
    assert_eq!(choose(&wish(None, false), queue).unwrap().policy, Policy::Wait);
    assert_eq!(choose(&wish(None, true), queue).unwrap().policy, Policy::Fence);
    let unclear = Wish { checkpoint: "s3://models/run-1".into(), ..wish(None, false) };
    assert_eq!(choose(&unclear, queue).unwrap().because, "the job does not say that it can resume");
    let fenced = QueueLease { default: Some(Policy::Fence), allows_overlap: false };
    assert_eq!(choose(&wish(None, false), fenced).unwrap().because, "it is the queue's default");
    assert_eq!(choose(&wish(Some(Policy::Wait), true), fenced).unwrap().policy, Policy::Wait);
}

#[test]
fn rerun_needs_both_the_job_and_the_queue() {
    let open = QueueLease { default: Some(Policy::Rerun), allows_overlap: true };
    assert_eq!(
        choose(&wish(Some(Policy::Rerun), true), QueueLease::default()),
        Err(Refusal::OverlapNotAllowed)
    );
    assert_eq!(choose(&wish(Some(Policy::Rerun), false), open).unwrap().policy, Policy::Rerun);
    assert_eq!(
        choose(&wish(None, false), open).unwrap().policy,
        Policy::Wait,
        "a queue alone never gives it"
    );
    assert_eq!("fence".parse(), Ok(Policy::Fence));
    assert!("retry".parse::<Policy>().unwrap_err().to_string().contains("wait, fence or rerun"));
}

#[test]
fn terms_that_stop_jobs_for_nothing_are_refused() {
    assert_eq!(Terms::default().check(), Ok(()));
    assert!(matches!(Terms { ttl: 29_000, ..terms() }.check(), Err(TermsError::TooShort { .. })));
    assert!(matches!(
        Terms { suspect_after: 15_000, ..terms() }.check(),
        Err(TermsError::HastySuspicion { .. })
    ));
    assert_eq!(Terms { poll: 0, ..terms() }.check(), Err(TermsError::Zero));
    assert_eq!(Terms { drift_permille: 500, ..terms() }.check(), Err(TermsError::Drift(500)));
    let short = Terms { ttl: 29_000, ..terms() }.check().unwrap_err().to_string();
    assert!(short.contains("29 s") && short.contains("at least 40 s"), "{short}");
}

#[test]
fn r5_a_report_proves_something_only_about_the_object_that_was_made() {
    let refused = Proof::reported_gone(attempt(1), Some("u1"), "u2", "").unwrap_err();
    assert!(matches!(refused, WordRefused::OtherUid { .. }));
    let proof = Proof::reported_gone(attempt(1), Some("u1"), "u1", "somebody deleted it").unwrap();
    assert_eq!((proof.kind(), proof.because()), (ProofKind::ReportedGone, "somebody deleted it"));
    assert!(Proof::reported_gone(attempt(1), None, "", "never made").is_ok());
}

#[test]
fn durations_read_as_people_say_them() {
    assert_eq!([1, 1_000, 119_000, 600_001].map(seconds).join(", "), "1 s, 1 s, 119 s, 10 m 1 s");
}
