//! Preemption on real clusters: a borrower is stopped for the queue whose quota it uses, and only when its pods are gone
//! does the owner start; then the stopped job goes on with a new attempt.

#![allow(clippy::unwrap_used)]

mod common;

use common::{stage, text};
use serde_json::Value;
use squadron_e2e::{
    job::{Job, PATIENCE, write},
    runs::{first_start, last_end},
    wait::{self, found_if},
};

/// Two teams that are guaranteed as much as one job of these tests asks for, and may lend it.
const QUEUES: [(&str, &str); 3] = [
    ("preempt", "{}"),
    (
        "preempt/lender",
        "{parent: preempt, preemption: {reclaimWithinCohort: Any}, flavors: [{name: any, \
         resources: [{name: cpu, nominalQuota: 2}, {name: memory, nominalQuota: 4Gi}]}]}",
    ),
    (
        "preempt/borrower",
        "{parent: preempt, flavors: [{name: any, \
         resources: [{name: cpu, nominalQuota: 0}, {name: memory, nominalQuota: 0}]}]}",
    ),
];

/// Declares the flavor and the queues, with what `spec` makes of what is said of them above.
fn declare(file: &str, spec: impl Fn(&'static str) -> &'static str) -> anyhow::Result<()> {
    let head = "apiVersion: squadron.dev/v1\nkind:";
    let mut policy = format!("{head} Flavor\nmetadata: {{name: any}}\n");
    for (name, said) in QUEUES {
        let spec = spec(said);
        policy.push_str(&format!("---\n{head} Queue\nmetadata: {{name: {name}}}\nspec: {spec}\n"));
    }
    let file = write(file, &policy)?.to_string_lossy().into_owned();
    stage().squadron(&["apply", "-f", &file])?.ok().map(drop)
}

/// Takes the quotas away again, so that they limit nothing afterwards.
struct Declared;

impl Declared {
    fn new() -> Declared {
        declare("preempt-policy", |said| said).unwrap();
        Declared
    }
}

impl Drop for Declared {
    fn drop(&mut self) {
        if let Err(problem) = declare("preempt-none", |_said| "{}") {
            eprintln!("the policy could not be taken back: {problem:#}");
        }
    }
}

fn detail(id: &str) -> Value {
    stage().detail(id).unwrap()
}

#[test]
fn a_borrower_stops_for_the_owner_of_the_quota_and_goes_on_afterwards() {
    let stage = stage();
    let _declared = Declared::new();
    let cluster = stage.spec.clusters[0].clone();
    let borrower = Job::counting("preempt-borrower", 40);
    let borrower = stage.submit(&borrower, &["-q", "preempt/borrower", "--cluster", &cluster]).unwrap();
    // Protected for as long as the stage's control plane says.
    stage.wait_log(&borrower, "line 4\n").unwrap();
    // From before it is asked to stop, so that its end is seen.
    let first = stage.witness(&cluster, &borrower).unwrap();
    let lender = Job::new("preempt-lender", "python -c \"print('mine', flush=True)\"");
    let lender = stage.submit(&lender, &["-q", "preempt/lender", "--cluster", &cluster]).unwrap();
    let second = stage.witness(&cluster, &lender).unwrap();
    wait::until("the owner to say whom it waits for", PATIENCE, || {
        let sentence = text(&stage.detail(&lender)?["job"]["sentence"]).to_owned();
        Ok(found_if(sentence.contains("waits for preempt-borrower to stop"), sentence))
    })
    .unwrap();
    stage.wait_job(&lender, "succeeded").unwrap();
    let (stopped, started) = (first.runs().unwrap(), second.runs().unwrap());
    let of_first: Vec<_> = stopped.into_iter().filter(|run| run.attempt == "1").collect();
    let (ended, began) = (last_end(&of_first).unwrap(), first_start(&started).unwrap());
    assert!(ended <= began, "the owner began at {began}, before the borrower had ended at {ended}");
    stage.wait_job(&borrower, "succeeded").unwrap();
    let attempts = detail(&borrower)["attempts"].clone();
    assert_eq!(text(&attempts[0]["state"]), "preempted");
    assert!(text(&attempts[0]["ended_because"]).contains("make room for job preempt-lender"), "{attempts}");
    assert_eq!(text(&attempts[1]["state"]), "succeeded");
    for (job, part) in [(&borrower, "stopped"), (&lender, "makes_room")] {
        let history = stage.squadron(&["why", job, "--history"]).unwrap().ok().unwrap();
        assert!(history.contains(part), "{history}");
    }
}
