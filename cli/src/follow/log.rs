//! A driver's output: read once, or followed over broken connections and new attempts by byte offset.

use squadron_api::{
    job::{Attempt, Job, JobDetail},
    log::LogQuery,
};
use squadron_core::job::JobState;

use super::{Outage, screen::Screen, wait};
use crate::{
    client::{Client, ClientError, LogStream},
    failure::Failure,
    out::Out,
    render::{plain, time::absolute},
};

/// What part of which output is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// The newest attempt, and those after it, when absent.
    pub attempt: Option<u32>,
    /// Bytes to skip at the start.
    pub offset: u64,
    pub follow: bool,
}

/// Reads or follows the output of one job.
#[derive(Debug)]
pub struct Follower<'a> {
    client: &'a Client,
    out: Out,
    job: String,
    wish: Wish,
    attempt: Option<u32>,
    offset: u64,
    /// The last answer brought bytes and may have ended where others are missing: look behind it before going on.
    look_behind: bool,
    screen: Screen,
    last: Option<JobDetail>,
    outage: Outage,
    /// Where to tell of waiting.
    say: Out,
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// Behind the last byte.
    pub offset: u64,
    /// The job as a follower saw it last.
    pub last: Option<JobDetail>,
}

/// How one connection ended.
enum End {
    /// The server sent all there is.
    Complete,
    Broken(ClientError),
}

/// What comes after all of an attempt's output was read.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Done,
    /// A newer attempt's output follows.
    Attempt(u32),
    /// The attempt, or the job between two attempts, goes on: ask again.
    Again,
}

impl<'a> Follower<'a> {
    pub fn new(client: &'a Client, out: Out, job: &Job, wish: Wish) -> Self {
        Follower {
            client,
            out,
            job: job.id.to_string(),
            wish,
            attempt: wish.attempt,
            offset: wish.offset,
            look_behind: false,
            screen: Screen::default(),
            last: None,
            outage: Outage::none(out),
            say: out,
        }
    }

    /// Somebody else waits for the same job and tells of it.
    pub fn beside_a_wait(mut self) -> Self {
        self.say = self.out.hushed();
        self.outage = Outage::none(self.say);
        self
    }

    /// Writes output to stdout until it ends.
    pub async fn run(mut self, job: &Job) -> Result<Read, Failure> {
        if self.wish.follow && job.attempt == 0 {
            let started = |job: &Job| job.attempt > 0 || job.state.is_terminal();
            if wait::until(self.client, self.say, job, None, started).await?.attempt == 0 {
                return Ok(self.read());
            }
        }
        loop {
            let before = self.offset;
            let end = match self.open().await {
                Ok(stream) => self.pump(stream).await?,
                Err(error) => End::Broken(error),
            };
            match end {
                End::Broken(error) => self.bear(error).await?,
                End::Complete if self.offset > before => self.look_behind = true,
                End::Complete if !self.wish.follow => return Ok(self.read()),
                End::Complete => match self.next().await? {
                    Next::Done => return Ok(self.read()),
                    Next::Attempt(number) => self.turn_to(number),
                    Next::Again => tokio::time::sleep(std::time::Duration::from_millis(500)).await,
                },
            }
        }
    }

    fn read(self) -> Read {
        Read { offset: self.offset, last: self.last }
    }

    async fn open(&mut self) -> Result<LogStream, ClientError> {
        let follow = self.wish.follow && !self.look_behind;
        let query = LogQuery {
            attempt: self.attempt,
            offset: Some(self.offset).filter(|offset| *offset > 0),
            follow: follow.then_some(true),
            marks: None,
        };
        let stream = self.client.log(&self.job, &query).await?;
        self.outage.over();
        self.look_behind = false;
        self.attempt = self.attempt.or(stream.attempt);
        if let Some(missing) =
            stream.offset.and_then(|start| start.checked_sub(self.offset)).filter(|gap| *gap > 0)
        {
            let gap = stream.gap.as_deref().map(plain);
            let untold = || format!("{missing} bytes at offset {} are missing", self.offset);
            self.out.note(&gap.unwrap_or_else(untold));
            self.offset += missing;
        }
        Ok(stream)
    }

    async fn pump(&mut self, mut stream: LogStream) -> Result<End, Failure> {
        loop {
            match stream.next().await {
                Ok(Some(bytes)) => self.write(&bytes)?,
                Ok(None) => return Ok(End::Complete),
                Err(error) => return Ok(End::Broken(error)),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.out.terminal {
            self.out.data(&self.screen.tame(bytes))?;
        } else {
            self.out.bytes(bytes)?;
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }

    async fn bear(&mut self, error: ClientError) -> Result<(), Failure> {
        let then = format!("resuming at byte {}", self.offset);
        self.outage.bear(error, &then).await
    }

    async fn next(&mut self) -> Result<Next, Failure> {
        match self.client.hasty().job(&self.job).await {
            Ok(detail) => {
                let next = after(&detail, self.attempt, self.wish.attempt.is_some());
                self.last = Some(detail);
                Ok(next)
            }
            Err(error) => {
                self.bear(error).await?;
                Ok(Next::Again)
            }
        }
    }

    fn turn_to(&mut self, number: u32) {
        self.out.note(&format!("attempt {number} follows"));
        (self.attempt, self.offset, self.screen) = (Some(number), 0, Screen::default());
    }
}

/// Whether the attempt whose output was read has ended, and what follows it.
fn after(detail: &JobDetail, read: Option<u32>, only_this: bool) -> Next {
    let read = read.unwrap_or(detail.job.attempt);
    let is_over = |attempt: &Attempt| attempt.number == read && attempt.ended_at.is_some();
    let newer = detail.attempts.iter().map(|attempt| attempt.number).filter(|number| *number > read).min();
    let over = detail.job.state.is_terminal() || newer.is_some() || detail.attempts.iter().any(is_over);
    match newer {
        _ if over && only_this => Next::Done,
        Some(number) => Next::Attempt(number),
        None if detail.job.state.is_terminal() => Next::Done,
        None => Next::Again,
    }
}

/// What to say where a job has written nothing.
pub fn nothing_yet(job: &Job, offset: u64) -> String {
    if offset > 0 {
        format!("job {} has written nothing behind byte {offset}", plain(&job.name))
    } else if job.state.is_terminal() {
        format!("job {} wrote no output: {}", plain(&job.name), plain(&job.sentence))
    } else {
        format!("job {} has written nothing yet: {}", plain(&job.name), plain(&job.sentence))
    }
}

/// What to say behind the last byte of an attempt that a person ended: a driver that is stopped tells of broken connections
/// as if they were its own trouble.
pub fn cut_short(detail: &JobDetail, attempt: Option<u32>) -> Option<String> {
    let job = &detail.job;
    let is_last = attempt.is_none_or(|number| number == job.attempt);
    let at = job.ended_at.filter(|_| is_last && job.state == JobState::Cancelled)?;
    let (name, sentence) = (plain(&job.name), plain(&job.sentence));
    Some(format!(
        "job {name} ended at {}: {sentence}; errors in its last lines may come from being stopped",
        absolute(at)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::job::tests::{NOW, job};

    fn detail(state: JobState, ended: &[bool]) -> JobDetail {
        let attempt = |(index, ended): (usize, &bool)| Attempt {
            number: u32::try_from(index + 1).unwrap_or(0),
            cluster: "east".into(),
            state: "running".into(),
            object: String::new(),
            chosen_because: String::new(),
            ended_because: String::new(),
            capped_because: String::new(),
            proof: String::new(),
            assigned_at: NOW,
            running_at: None,
            checkpointed_at: None,
            ended_at: ended.then_some(NOW),
        };
        JobDetail {
            job: job("train", state),
            source: None,
            manifest: String::new(),
            attempts: ended.iter().enumerate().map(attempt).collect(),
            timeline: vec![],
            pods: vec![],
            why: None,
            incidents: vec![],
            cost: None,
        }
    }

    #[test]
    fn follower_goes_from_attempt_to_attempt_until_the_job_ends() {
        assert_eq!(after(&detail(JobState::Running, &[false]), Some(1), false), Next::Again);
        assert_eq!(after(&detail(JobState::Running, &[true, false]), Some(1), false), Next::Attempt(2));
        assert_eq!(after(&detail(JobState::Queued, &[true]), Some(1), false), Next::Again);
        assert_eq!(after(&detail(JobState::Failed, &[true, true]), Some(2), false), Next::Done);
    }

    #[test]
    fn the_end_of_a_cancelled_job_s_log_says_who_ended_it() {
        let mut cancelled = detail(JobState::Cancelled, &[true, true]);
        (cancelled.job.attempt, cancelled.job.ended_at) = (2, Some(NOW));
        cancelled.job.sentence = "cancelled by ann (wrong data) and gone from east".into();
        let said = cut_short(&cancelled, None).unwrap_or_default();
        assert!(said.contains("Z: cancelled by ann (wrong data) and gone from east; errors in"), "{said}");
        assert_eq!(cut_short(&cancelled, Some(2)), Some(said));
        assert_eq!(cut_short(&cancelled, Some(1)), None, "that one ended otherwise");
        assert_eq!(cut_short(&detail(JobState::Failed, &[true]), None), None);
    }

    #[test]
    fn named_attempt_is_followed_alone() {
        assert_eq!(after(&detail(JobState::Running, &[true, false]), Some(1), true), Next::Done);
        assert_eq!(after(&detail(JobState::Running, &[true, false]), Some(2), true), Next::Again);
    }
}
