//! `completion`: scripts for shells.

use clap::Args;
use clap_complete::{Shell, generate};

use crate::{app::App, args, exit::Exit, failure::Failure};

const HELP: &str = "\
Examples:
  source <(squadron completion bash)
  squadron completion bash > /etc/bash_completion.d/squadron
  squadron completion zsh > \"${fpath[1]}/_squadron\"
  squadron completion fish > ~/.config/fish/completions/squadron.fish";

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct CompletionArgs {
    /// Which shell
    shell: Shell,
}

pub fn run(args: &CompletionArgs, app: &App) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut args::command("squadron"), "squadron", &mut script);
    app.out.bytes(&script)?;
    Ok(Exit::Ok)
}
