//! The runs behind `make`: house rules, generated files, the whole check, the demo.

mod command;
mod repo;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// What the project does with itself. `make help` shows the runs that people need.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the house rules.
    Tidy,
}

fn main() -> Result<()> {
    match Args::parse().task {
        Task::Tidy => tidy::run(),
    }
}
