//! Seeds as tests.
#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn some_seeds() {
    let report = run(1, 300, |_| {});
    println!("{}", serde_json::to_string_pretty(&report).unwrap());
    if let Some(broken) = &report.first_broken {
        for line in play(broken.seed, None, true).trace {
            println!("{line}");
        }
    }
    assert!(report.holds());
}
