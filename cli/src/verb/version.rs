//! `version`: of this program and of the control plane.

use clap::Args;

use crate::{app::App, exit::Exit, failure::Failure, render::plain};

const HELP: &str = "\
Examples:
  squadron version
  squadron version --client              # asks nobody";

/// Print the versions of this program and of the control plane
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct VersionArgs {
    /// Only this program
    #[arg(long)]
    client: bool,
}

pub async fn run(args: VersionArgs, app: &App) -> Result<Exit, Failure> {
    let own = env!("CARGO_PKG_VERSION");
    app.out.data(&format!("client  {own}\n"))?;
    if args.client {
        return Ok(Exit::Ok);
    }
    let client = app.client()?;
    let about = client.about().await?;
    app.out.data(&format!("server  {}  {}\n", plain(&about.version), client.address()))?;
    if about.version != own {
        app.out
            .note("client and server differ; commands that the server does not know yet are refused by it");
    }
    Ok(Exit::Ok)
}
