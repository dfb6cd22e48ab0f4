//! `logs`: the driver's output.

use clap::Args;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    follow::{log, until_left},
};

const HELP: &str = "\
Examples:
  squadron logs train
  squadron logs -f train                 # until the job ends; Ctrl-C leaves the job running
  squadron logs train --attempt 1        # an earlier attempt
  squadron logs train --offset 4096      # from byte 4096 on
  squadron logs train > train.log        # the bytes exactly as the driver wrote them

A follower survives a restarted server: it resumes at the byte where it was. Works after the job's pods are gone.";

/// Show or follow the driver's output
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LogsArgs {
    /// Name or id
    job: String,
    /// Stay until the job ends, over later attempts too
    #[arg(short, long)]
    follow: bool,
    /// This attempt instead of the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
    /// Skip so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    offset: u64,
}

pub async fn run(args: LogsArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let before = client.job(&args.job).await?;
    let job = before.job.clone();
    let wish = log::Wish { attempt: args.attempt, offset: args.offset, follow: args.follow };
    let follower = log::Follower::new(&client, app.out, &job, wish);
    let Some(read) = until_left(app, &job, follower.run(&job)).await? else {
        return Ok(Exit::Interrupted);
    };
    if read.offset == args.offset && !args.follow {
        app.out.note(&log::nothing_yet(&job, args.offset));
    } else if let Some(said) = log::cut_short(read.last.as_ref().unwrap_or(&before), args.attempt) {
        app.out.note(&said);
    }
    Ok(Exit::Ok)
}
