//! `squadron-testbed`: real Kubernetes clusters on one machine.
//!
//! Owns the way from a command line to an exit code. Invariant: 0 means done, 1 means that the sentence on standard
//! error says what was not done and why, 2 means that the command line was wrong.

mod args;
mod build;
mod commands;
mod contexts;
mod error;
mod fakes;
mod files;
mod hash;
mod home;
mod images;
mod kubectl;
mod local;
mod mounts;
mod name;
mod packages;
mod process;
mod program;
mod progress;
mod provider;
mod register;
mod table;
mod upping;
mod wait;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(args::Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("squadron-testbed: {}", error::sentence(&error));
            ExitCode::FAILURE
        }
    }
}
