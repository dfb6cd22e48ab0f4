//! `token`: what programs show to be let in.

use clap::{Args, Subcommand};
use squadron_api::token::{AddTokenReply, AddTokenRequest};
use squadron_core::authz::Role;

use crate::{
    app::App,
    confirm::confirm,
    exit::Exit,
    failure::Failure,
    render::{
        list::{ItemFormat, ListFormat, item, list},
        plain,
        time::absolute,
    },
};

const HELP: &str = "\
Examples:
  squadron token add ci --role submitter --days 30 > ci.token
  squadron token list
  squadron token revoke 0193a5a0-7c1e-7000-8000-1f2e3d4c5b6a";

const ADD_HELP: &str = "\
Examples:
  (umask 077; squadron token add ci --role submitter > ci.token)
  squadron token add ann --role operator --days 7

The secret goes to stdout and is shown this once; the server keeps only its digest.";

const LIST_HELP: &str = "\
Examples:
  squadron token list
  squadron token list -o csv";

const REVOKE_HELP: &str = "\
Examples:
  squadron token revoke 0193a5a0-7c1e-7000-8000-1f2e3d4c5b6a --yes";

/// API tokens: add, list, revoke
#[derive(Debug, Args)]
#[command(visible_alias = "tokens", after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct TokenArgs {
    #[command(subcommand)]
    verb: Option<TokenVerb>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// Make a token and print its secret once
    #[command(after_help = ADD_HELP)]
    Add(AddArgs),
    /// List tokens without their secrets
    #[command(visible_alias = "ls", after_help = LIST_HELP)]
    List(ListArgs),
    /// Refuse a token from now on
    #[command(after_help = REVOKE_HELP)]
    Revoke {
        /// Id, as the list shows it
        id: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct AddArgs {
    /// Whose actions these will be, for example ci
    subject: String,
    /// What it may do
    #[arg(long, value_parser = role_parser())]
    role: String,
    /// Days until it ends
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    /// Format; text is the secret alone
    #[arg(short, long, value_enum, default_value_t)]
    output: ItemFormat,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: ListFormat,
}

fn role_parser() -> clap::builder::PossibleValuesParser {
    Role::ALL.map(Role::word).into()
}

pub async fn run(args: TokenArgs, app: &App) -> Result<Exit, Failure> {
    match args.verb.unwrap_or(TokenVerb::List(args.list)) {
        TokenVerb::Add(args) => add(args, app).await?,
        TokenVerb::List(args) => {
            let page = app.client()?.tokens().await?;
            app.out.data(&list(&page, args.output, app.view(page.as_of)))?;
        }
        TokenVerb::Revoke { id, yes } => {
            confirm(&format!("revoke token {}?", plain(&id)), yes)?;
            app.client()?.revoke_token(&id).await?;
            app.out.note(&format!("token {} is refused from now on", plain(&id)));
        }
    }
    Ok(Exit::Ok)
}

async fn add(args: AddArgs, app: &App) -> Result<(), Failure> {
    let request = AddTokenRequest { subject: args.subject, role: args.role, days: Some(args.days) };
    let reply = app.client()?.add_token(&request).await?;
    app.out.data(&item(&reply, args.output, || format!("{}\n", plain(&reply.secret))))?;
    app.out.note(&told(&reply));
    Ok(())
}

fn told(reply: &AddTokenReply) -> String {
    let token = &reply.token;
    let end = token.expires_at.map(|at| format!(" until {}", absolute(at))).unwrap_or_default();
    format!(
        "token {} for {}, {}{end}; it is not shown again",
        token.id,
        plain(&token.subject),
        plain(&token.role)
    )
}
