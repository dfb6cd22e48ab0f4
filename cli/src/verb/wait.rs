//! `wait`: until a job ends.

use std::time::Duration;

use clap::Args;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    follow::{until_left, wait},
    render::list::{ItemFormat, item},
};

const HELP: &str = "\
Examples:
  squadron wait train && echo fine
  squadron wait train --timeout 3600     # exits 6 when the time is over; the job goes on
  squadron wait train -o json            # the job as it ended, on stdout

Exit codes: 0 succeeded, 10 failed, 11 cancelled, 6 the time is over, 130 you left with Ctrl-C.";

/// Wait until a job ends; the exit code says how
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct WaitArgs {
    /// Name or id
    job: String,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Format of the job on stdout; text prints nothing there
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

pub async fn run(args: WaitArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let job = client.job(&args.job).await?.job;
    let timeout = args.timeout.map(Duration::from_secs);
    let work = wait::until(&client, app.out, &job, timeout, |job| job.state.is_terminal());
    let Some(ended) = until_left(app, &job, work).await? else { return Ok(Exit::Interrupted) };
    app.out.data(&item(&ended, args.output, String::new))?;
    if let Some(line) = wait::read_on(&ended, app.program) {
        app.out.note(&line);
    }
    Ok(wait::outcome(&ended))
}
