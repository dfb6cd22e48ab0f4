//! The command line of Squadron, also `kubectl squadron`.
//!
//! Owns what a person types and reads. Invariant: data goes to stdout, everything said goes to stderr, the exit code says
//! how it ended (see [`exit`]). Nothing here decides: the server's sentences are shown as they were written.

mod app;
mod args;
mod client;
mod clock;
mod config;
mod confirm;
mod exit;
mod failure;
mod follow;
mod lab;
mod manifest;
mod out;
mod render;
mod texts;
mod verb;

use std::process::ExitCode;

use exit::Exit;

fn main() -> ExitCode {
    let (cli, program) = args::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return Exit::General.into();
        }
    };
    let app = app::App::new(cli.connect, program);
    match runtime.block_on(verb::run(cli.verb, &app)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprint!("{}", failure.lines());
            failure.exit.into()
        }
    }
}
