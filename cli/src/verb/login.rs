//! `login`: saves a control plane as a context, after it has answered.

use std::{
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
};

use clap::Args;
use reqwest::Url;

use crate::{
    app::App,
    client::Client,
    config::{self, Connection, Context, Token},
    exit::Exit,
    failure::Failure,
    render::plain,
};

const HELP: &str = "\
Examples:
  cd DATA && squadron login --server https://127.0.0.1:8443 --ca tls/ca.crt --token-file admin.token
  squadron login --name prod --server https://squadron.example.com --token-stdin < token

The server must answer and know the token before anything is saved. With --token-file the path is saved, with --token-stdin the token itself, in a file that only you can read.";

/// Save a control plane and use it from now on
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct LoginArgs {
    /// Name of the context [default: the server's host, with its port unless that is 8443]
    #[arg(long)]
    name: Option<String>,
    /// Read the token from stdin and save it
    #[arg(long, conflicts_with = "token_file")]
    token_stdin: bool,
}

pub async fn run(args: LoginArgs, app: &App) -> Result<Exit, Failure> {
    let connection = connection(&args, app)?;
    let client = Client::new(connection.clone(), app.connect.debug)?;
    let about = client.about().await?;
    let me = client.me().await?;
    let name = args.name.clone().unwrap_or_else(|| default_name(&connection.server));
    save(app, &name, context(&args, app, connection)?)?;
    app.out.note(&format!(
        "logged in to {} (version {}) as {}, {}; saved as context {name}",
        client.address(),
        plain(&about.version),
        plain(&me.subject),
        plain(&me.role),
    ));
    Ok(Exit::Ok)
}

/// The host, and the port where it is not the usual one.
fn default_name(server: &Url) -> String {
    let host = server.host_str().unwrap_or("default");
    match server.port() {
        None | Some(8443) => host.to_owned(),
        Some(port) => format!("{host}:{port}"),
    }
}

/// Flags, environment and stdin; what is saved already is not looked at.
fn connection(args: &LoginArgs, app: &App) -> Result<Connection, Failure> {
    let mut wishes = app.wishes();
    wishes.context = None;
    if args.token_stdin {
        (wishes.token, wishes.token_file) = (Some(stdin_token()?), None);
    }
    let connection = config::resolve(&wishes, &config::Config::default())?;
    if connection.token.is_none() {
        return Err(Failure::usage("no token was given")
            .next("add --token-file FILE (the first token is in DATA/admin.token), or --token-stdin"));
    }
    Ok(connection)
}

fn stdin_token() -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        return Err(Failure::usage(
            "--token-stdin reads from a pipe or a file, so that the token does not stay on the screen",
        )
        .next("squadron login … --token-stdin < FILE"));
    }
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(8_192)
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage("cannot read the token from stdin").because(error))?;
    Ok(text)
}

fn context(args: &LoginArgs, app: &App, connection: Connection) -> Result<Context, Failure> {
    let server = connection.address().to_owned();
    let token_file =
        app.wishes().token_file.filter(|_| !args.token_stdin).map(|path| full(&path)).transpose()?;
    let token: Option<Token> = connection.token.filter(|_| token_file.is_none());
    let ca = connection.ca.map(|path| full(&path)).transpose()?;
    Ok(Context { server, ca, token_file, token })
}

/// A saved path must mean the same file from every folder.
fn full(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize()
        .map_err(|error| Failure::usage(format!("cannot find {}", path.display())).because(error))
}

fn save(app: &App, name: &str, context: Context) -> Result<(), Failure> {
    let path = app.config_path()?;
    let mut config = config::read(&path)?;
    config.contexts.insert(name.to_owned(), context);
    config.current = Some(name.to_owned());
    Ok(config::write(&path, &config)?)
}
