//! Arguments: what every command shares, and the table of commands.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser};

use crate::verb::Verb;

const EXIT_CODES: &str = "\
Examples:
  squadron login --server https://127.0.0.1:8443 --ca ca.crt --token-file admin.token
  squadron submit train.yaml -q research --logs
  squadron list --status queued,running
  squadron why train
  squadron where -f train.yaml -q research

Exit codes:
  0  done                                  4  no or no sufficient credentials
  1  anything else                         5  not in a state that allows this
  2  command line or file is wrong         6  server unreachable or too slow
  3  a named thing does not exist          130  stopped by Ctrl-C
  wait, submit --wait: 10  the job failed, 11  it was cancelled
A list that matches nothing exits 0 and says so on stderr.";

/// One control plane for Ray on many Kubernetes clusters
#[derive(Debug, Parser)]
#[command(name = "squadron", version, after_help = EXIT_CODES, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub connect: ConnectArgs,
    #[command(subcommand)]
    pub verb: Verb,
}

/// Where the control plane is and who we are. A token is never an argument: every process could read it there.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectArgs {
    /// Saved context to use instead of the current one
    #[arg(long, global = true, env = "SQUADRON_CONTEXT", hide_env_values = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Address of the control plane, for example https://127.0.0.1:8443
    #[arg(long, global = true, env = "SQUADRON_SERVER", hide_env_values = true, value_name = "URL")]
    pub server: Option<String>,
    /// PEM file of the only CA to trust; the system's roots when absent
    #[arg(long, global = true, env = "SQUADRON_CA", hide_env_values = true, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// File with the API token; SQUADRON_TOKEN may hold the token itself
    #[arg(long, global = true, env = "SQUADRON_TOKEN_FILE", hide_env_values = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Configuration file [default: ~/.config/squadron/config.yaml]
    #[arg(long, global = true, env = "SQUADRON_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print each HTTP request and answer to stderr, secrets masked
    #[arg(long, global = true)]
    pub debug: bool,
}

/// Reads the command line. Ends the process on help, version and usage errors. Also says under which name we run.
pub fn parse() -> (Cli, &'static str) {
    let program = program_name(std::env::args_os().next().as_deref().map(Path::new));
    if std::env::args_os().len() <= 1 {
        show_help(program);
    }
    let matches = command(program).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    (cli, program)
}

/// Who types nothing but the name wants to know what there is.
fn show_help(program: &'static str) -> ! {
    // A reader that goes away ends the command in silence.
    let _ = command(program).print_help();
    std::process::exit(0)
}

/// The whole command, with help that names the program as it was called.
pub fn command(program: &'static str) -> Command {
    let command = Cli::command().bin_name(program);
    if program == "squadron" { command } else { renamed(command, program) }
}

/// kubectl runs `kubectl-squadron` for `kubectl squadron`.
fn program_name(path: Option<&Path>) -> &'static str {
    let name = path.and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    if name.starts_with("kubectl-") { "kubectl squadron" } else { "squadron" }
}

fn renamed(command: Command, program: &'static str) -> Command {
    let help =
        command.get_after_help().map(|help| help.to_string().replace("squadron ", &format!("{program} ")));
    let command = command.mut_subcommands(|sub| renamed(sub, program));
    match help {
        Some(help) => command.after_help(help),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse_words(words: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("squadron").chain(words.iter().copied()))
    }

    #[test]
    fn definition_is_consistent() {
        command("squadron").debug_assert();
        command("kubectl squadron").debug_assert();
    }

    #[test]
    fn every_verb_teaches_with_examples() {
        fn check(command: &Command, path: &str) {
            for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
                let path = format!("{path} {}", sub.get_name());
                let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Examples:") && help.contains(&path), "{path}: {help}");
                assert!(sub.get_about().is_some(), "{path} has no sentence");
                check(sub, &path);
            }
        }
        check(&command("squadron"), "squadron");
    }

    #[test]
    fn plugin_speaks_of_itself_as_kubectl_squadron() {
        assert_eq!(program_name(Some(Path::new("/usr/bin/kubectl-squadron"))), "kubectl squadron");
        let mut plugin = command("kubectl squadron");
        let help = plugin.find_subcommand_mut("why").unwrap().render_long_help().to_string();
        assert!(help.contains("kubectl squadron why train"), "{help}");
    }

    #[test]
    fn common_lines_are_understood() {
        for line in [
            "submit train.yaml -q research --wait --logs",
            "submit - --queue a/b --cluster east --dry-run=client -o json",
            "submit train.yaml --dry-run",
            "ls --status queued,running --queue research --limit 5 -o wide",
            "logs train -f --attempt 2 --offset 100",
            "clusters",
            "clusters -o json",
            "clusters --all",
            "cluster accept east --yes --wait",
            "queues",
            "cluster allow-queue east ml acme/vision",
            "cluster queues east -o csv",
            "queue add research",
            "queue add research --template gpu.yaml",
            "queue set research --template -",
            "queue set research --no-template",
            "queue show research",
            "apply -f policy.yaml -f teams/ --dry-run=client --prune",
            "diff -f - -o json",
            "diff -f policy.yaml --what-if",
            "apply -f policy.yaml --what-if --prune -o yaml",
            "policy",
            "submit train.yaml --priority high",
            "queue waiting research --limit 5 -o csv",
            "why train --history --limit 5",
            "where train -o json",
            "where -f train.yaml -q research --cluster east",
            "usage --by team,job -o csv --from 7d",
            "prices apply -f sheet.yaml --dry-run",
            "cancel a b --reason done --yes",
            "submit train.yaml --on-lost fence",
            "submit train.yaml --prefer west,region=eu --avoid east --residency eu --data imagenet --spot never",
            "where -f train.yaml --spread sweep-7",
            "cluster label east region=eu-west-1 tier-",
            "cluster declare-dead east --reason burnt --yes",
            "vouch train --reason wiped --yes",
            "queue on-lost sweeps job --allow-overlap",
            "incidents --state all",
            "context use demo",
            "lab replay --jobs j.csv --fleet f.csv --policy fifo-best-fit --first-seed 3 --seeds 5 --json",
            "lab trace --fleet f.csv --like flood --load 0.77",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(parse_words(&words).is_ok(), "{line}: {}", parse_words(&words).unwrap_err());
        }
    }

    #[test]
    fn mistakes_are_usage_errors() {
        for line in [
            "list --status sleeping",
            "queue set research",
            "where",
            "where train -f train.yaml",
            "why train --limit 5",
            "submit",
            "apply",
            "apply -f policy.yaml --what-if --dry-run",
            "usage --by moon",
            "submit train.yaml --on-lost often",
            "submit train.yaml --spot no",
            "submit train.yaml --max-price 12",
            "where train --prefer west",
            "cluster label east",
            "cluster declare-dead east",
            "list --limit 0",
            "lab replay --jobs j --fleet f --policy x",
            "frobnicate",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(parse_words(&words).unwrap_err().exit_code(), 2, "{line}");
        }
    }
}
