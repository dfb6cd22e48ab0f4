//! `audit`: who did what, and what was refused.

use clap::Args;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    render::list::{ListFormat, list},
};

const HELP: &str = "\
Examples:
  squadron audit
  squadron audit -o csv > audit.csv
  squadron audit -o jsonl | jq 'select(.allowed | not)'";

/// Show who did what, newest first
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct AuditArgs {
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

pub async fn run(args: AuditArgs, app: &App) -> Result<Exit, Failure> {
    let page = app.client()?.audit().await?;
    app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
    if page.next_page_token.is_some() {
        app.out.note(&format!("the newest {} are shown", page.items.len()));
    }
    Ok(Exit::Ok)
}
