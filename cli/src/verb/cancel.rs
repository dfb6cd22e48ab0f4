//! `cancel`: ends jobs, after saying which.

use clap::Args;
use squadron_api::job::Job;

use crate::{
    app::App,
    client::Client,
    confirm::confirm,
    exit::Exit,
    failure::Failure,
    follow::{until_left, wait},
    render::{count, job::state_sentence, plain},
};

const HELP: &str = "\
Examples:
  squadron cancel train
  squadron cancel train eval --reason \"wrong data set\" --yes
  squadron cancel train --yes --wait     # returns when the job has ended

The reason is kept in the audit log. Without --wait it returns once the request is accepted.";

/// Cancel jobs
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct CancelArgs {
    /// Names or ids
    #[arg(required = true, value_name = "JOB")]
    jobs: Vec<String>,
    /// Why; kept in the audit log
    #[arg(long, default_value = "")]
    reason: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Stay until the jobs have ended
    #[arg(long)]
    wait: bool,
}

pub async fn run(args: CancelArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let mut jobs = Vec::new();
    for job in &args.jobs {
        jobs.push(client.job(job).await?.job);
    }
    confirm(&question(&jobs), args.yes)?;
    for job in &jobs {
        let job = client.cancel(&job.id.to_string(), &args.reason).await?;
        app.out.note(&format!("job {}: {}", plain(&job.name), state_sentence(&job)));
    }
    if args.wait { stay(app, &client, &jobs).await } else { Ok(Exit::Ok) }
}

fn question(jobs: &[Job]) -> String {
    let one = |job: &Job| {
        let place =
            job.cluster.as_deref().map(|cluster| format!(" on {}", plain(cluster))).unwrap_or_default();
        format!("{} of {} ({}{place}, {})", plain(&job.name), plain(&job.owner), job.state, job.id)
    };
    format!("cancel {}: {}?", count(jobs.len(), "job"), jobs.iter().map(one).collect::<Vec<_>>().join(", "))
}

async fn stay(app: &App, client: &Client, jobs: &[Job]) -> Result<Exit, Failure> {
    for job in jobs {
        let work = wait::until(client, app.out, job, None, |job| job.state.is_terminal());
        let Some(ended) = until_left(app, job, work).await? else { return Ok(Exit::Interrupted) };
        if let Some(line) = wait::read_on(&ended, app.program) {
            app.out.note(&line);
        }
    }
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use squadron_core::job::JobState;

    use super::question;
    use crate::render::job::tests::job;

    #[test]
    fn question_names_what_will_end() {
        let jobs = [job("train", JobState::Running), job("eval", JobState::Starting)];
        let id = "0193a5a0-0000-7000-8000-0000000000a1";
        assert_eq!(
            question(&jobs),
            format!(
                "cancel 2 jobs: train of ada (running on east, {id}), eval of ada (starting on east, {id})?"
            )
        );
    }
}
