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
    .next(format!("wait longer with `squadron wait {}`, or see `squadron why {}`", job.name, job.name))
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

/// State, sentence, and since when the word is old.
fn progress(job: &Job) -> String {
    let stale = job.stale_since.map(|since| format!(" (cluster silent since {})", time::absolute(since)));
    format!("{}{}", state_sentence(job), stale.unwrap_or_default())
}

/// How `wait` and `submit --wait` end for a job that ended.
pub fn outcome(job: &Job) -> Exit {
    match job.state {
        JobState::Failed => Exit::JobFailed,
        JobState::Cancelled => Exit::JobCancelled,
        _ => Exit::Ok,
    }
}

/// The last line: how it ended, after how long, and where to read on.
pub fn farewell(job: &Job, program: &str) -> String {
    let runtime = job.started_at.zip(job.ended_at).map(|(start, end)| time::span(end.millis_since(start)));
    let after = runtime.map(|span| format!(" after {span}")).unwrap_or_default();
    let more = if job.state == JobState::Succeeded {
        String::new()
    } else {
        format!("; see {program} describe {}", job.name)
    };
    format!("job {} {}{after}{more}", plain(&job.name), job.state)
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
    fn last_line_says_how_and_where_to_read_on() {
        let ended = Job { ended_at: Some(NOW), ..job("train-17", JobState::Failed) };
        assert_eq!(
            farewell(&ended, "squadron"),
            "job train-17 failed after 4 m 05 s; see squadron describe train-17"
        );
    }
}
