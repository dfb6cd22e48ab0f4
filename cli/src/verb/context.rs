//! `context`: which control plane the commands go to.

use clap::{Args, Subcommand};

use crate::{
    app::App,
    config::{self, Config, ConfigError},
    exit::Exit,
    failure::Failure,
    render::table::{Cell, left, table},
};

const HELP: &str = "\
Examples:
  squadron context list
  squadron context use prod
  squadron list --context prod           # once, without changing the current one";

const LIST_HELP: &str = "\
Examples:
  squadron context list";

const USE_HELP: &str = "\
Examples:
  squadron context use prod";

/// Saved control planes: list, use
#[derive(Debug, Args)]
#[command(alias = "contexts", after_help = HELP)]
pub struct ContextArgs {
    #[command(subcommand)]
    verb: ContextVerb,
}

#[derive(Debug, Subcommand)]
enum ContextVerb {
    /// List saved contexts; the current one is marked
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List,
    /// Make a context the current one
    #[command(after_help = USE_HELP)]
    Use {
        /// Name of the context
        name: String,
    },
}

pub fn run(args: ContextArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb {
        ContextVerb::List => show(app),
        ContextVerb::Use { name } => change(app, &name),
    }
}

fn show(app: &App) -> Result<Exit, Failure> {
    let config = app.config()?;
    if config.contexts.is_empty() {
        app.out.note(&format!("no contexts yet; save one with {} login", app.program));
        return Ok(Exit::Ok);
    }
    app.out.data(&table(
        &[left("CURRENT"), left("NAME"), left("SERVER"), left("TOKEN")],
        &rows(&config),
        app.out.colour,
    ))?;
    Ok(Exit::Ok)
}

fn rows(config: &Config) -> Vec<Vec<Cell>> {
    let row = |(name, context): (&String, &config::Context)| {
        let mark = if config.current.as_ref() == Some(name) { "*" } else { "" };
        let token = match (&context.token, &context.token_file) {
            (Some(_), _) => "saved here".to_owned(),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => "none".to_owned(),
        };
        vec![mark.into(), name.as_str().into(), context.server.as_str().into(), token.into()]
    };
    config.contexts.iter().map(row).collect()
}

fn change(app: &App, name: &str) -> Result<Exit, Failure> {
    let path = app.config_path()?;
    let mut config = config::read(&path)?;
    if !config.contexts.contains_key(name) {
        let known: Vec<&str> = config.contexts.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none yet".to_owned() } else { known.join(", ") };
        return Err(ConfigError::UnknownContext { name: name.to_owned(), known }.into());
    }
    config.current = Some(name.to_owned());
    config::write(&path, &config)?;
    app.out.note(&format!("context {name} is the current one"));
    Ok(Exit::Ok)
}
