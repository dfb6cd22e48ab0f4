//! `vouch`: an operator's word that nothing of a job runs on its lost cluster.

use clap::Args;

use crate::{
    app::App,
    confirm::confirm,
    exit::Exit,
    failure::Failure,
    render::{job::state_sentence, plain},
};

const HELP: &str = "\
Examples:
  squadron vouch train --reason \"the node was wiped\"
  squadron vouch train --reason \"I powered the machines off\" --yes

The job starts elsewhere within seconds, whatever its policy. If something of it still runs there, it runs twice. The audit log keeps your words. To speak for a whole cluster: squadron cluster declare-dead NAME.";

/// Say that nothing of a job runs on its silent cluster any more, so that it starts elsewhere
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct VouchArgs {
    /// Name or id
    #[arg(value_name = "JOB")]
    job: String,
    /// How you know; kept in the audit log
    #[arg(long)]
    reason: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub async fn run(args: VouchArgs, app: &App) -> Result<Exit, Failure> {
    let client = app.client()?;
    let job = client.job(&args.job).await?.job;
    let place = plain(job.cluster.as_deref().unwrap_or("no cluster"));
    let question = format!(
        "start {} ({place}, {}) elsewhere? What still runs there would run twice",
        plain(&job.name),
        job.id
    );
    confirm(&question, args.yes)?;
    let job = client.vouch(&job.id.to_string(), &args.reason).await?;
    app.out.note(&format!("job {}: {}", plain(&job.name), state_sentence(&job)));
    Ok(Exit::Ok)
}
