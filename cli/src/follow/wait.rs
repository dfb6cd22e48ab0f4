//! Waiting for a job's end, saying each new sentence about it once.

use std::time::Duration;

use squadron_api::job::Job;
use squadron_core::job::JobState;

use super::Outage;
use crate::{
    client::Client,
    clock::now,
    exit::Exit,
    failure::Failure,
    out::Out,
    render::{job::state_sentence, plain, time},
};

const FIRST_POLL: Duration = Duration::from_millis(300);
const LONGEST_POLL: Duration = Duration::from_secs(2);

/// Waits until `is_done`; fails with exit code 6 after `timeout`.
pub async fn until(
    client: &Client,
    out: Out,
    job: &Job,
    timeout: Option<Duration>,
    is_done: impl Fn(&Job) -> bool,
) -> Result<Job, Failure> {
    let work = poll(client, out, job, is_done);
    match timeout {
        None => work.await,
        Some(limit) => tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(too_slow(job, limit))),
    }
}

fn too_slow(job: &Job, limit: Duration) -> Failure {
    Failure::new(
        Exit::Unavailable,
        format!("job {} did not end within {} s; it goes on", job.name, limit.as_secs()),
    )
    .next(format!("wait longer with `squadron wait {}`, or see `squadron why {}`", job.id, job.id))
}

async fn poll(client: &Client, out: Out, job: &Job, is_done: impl Fn(&Job) -> bool) -> Result<Job, Failure> {
    let (client, id) = (client.hasty(), job.id.to_string());
    let (mut outage, mut pause, mut said) = (Outage::none(out), FIRST_POLL, String::new());
    loop {
        match client.job(&id).await {
            Ok(detail) => {
                outage.over();
                let line = progress(&detail.job);
                if line != said {
                    out.note(&format!("{}  {line}", time::clock(now())));
                    (said, pause) = (line, FIRST_POLL);
                }
                if is_done(&detail.job) {
                    return Ok(detail.job);
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 3 / 2).min(LONGEST_POLL);
            }
            Err(error) => outage.bear(error, "still waiting, the job is not affected").await?,
        }
    }
}

/// Name, state, sentence, and since when the word is old.
fn progress(job: &Job) -> String {
    let stale = job.stale_since.map(|since| format!(" (cluster silent since {})", time::absolute(since)));
    format!("{}  {}{}", plain(&job.name), state_sentence(job), stale.unwrap_or_default())
}

/// How `wait` and `submit --wait` end for a job that ended.
pub fn outcome(job: &Job) -> Exit {
    match job.state {
        JobState::Failed => Exit::JobFailed,
        JobState::Cancelled => Exit::JobCancelled,
        _ => Exit::Ok,
    }
}

/// Where to read on about a job that did not succeed.
pub fn read_on(job: &Job, program: &str) -> Option<String> {
    (job.state != JobState::Succeeded).then(|| format!("read on: {program} describe {}", job.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::job::tests::{NOW, job};

    #[test]
    fn end_of_the_job_becomes_the_exit_code() {
        let exits = [JobState::Succeeded, JobState::Failed, JobState::Cancelled]
            .map(|state| outcome(&job("a", state)) as u8);
        assert_eq!(exits, [0, 10, 11]);
    }

    #[test]
    fn job_that_did_not_succeed_says_where_to_read_on() {
        assert_eq!(
            read_on(&job("train", JobState::Failed), "squadron").as_deref(),
            Some("read on: squadron describe 0193a5a0-0000-7000-8000-0000000000a1")
        );
        assert_eq!(read_on(&job("train", JobState::Succeeded), "squadron"), None);
    }

    #[test]
    fn progress_says_since_when_the_word_is_old() {
        let stale = Job { stale_since: Some(NOW), ..job("train", JobState::Running) };
        assert_eq!(
            progress(&stale),
            "train  running: Ray runs the driver. (cluster silent since 2026-11-30T01:03:20Z)"
        );
    }
}
