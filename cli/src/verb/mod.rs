//! Verbs: one file for each thing a person can ask for.

mod apply;
mod arrival;
mod audit;
mod cancel;
mod cluster;
mod completion;
mod context;
mod describe;
mod doctor;
mod incidents;
mod label;
mod list;
mod login;
mod logs;
mod period;
mod place;
mod prefer;
mod prices;
mod queue;
mod submit;
mod token;
mod usage;
mod version;
mod vouch;
mod wait;
mod why;

use clap::Subcommand;

use crate::{app::App, exit::Exit, failure::Failure, lab};

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    Submit(submit::SubmitArgs),
    List(list::ListArgs),
    Describe(describe::DescribeArgs),
    Why(why::WhyArgs),
    #[command(name = "where")]
    Where(place::WhereArgs),
    Logs(logs::LogsArgs),
    Wait(wait::WaitArgs),
    Cancel(cancel::CancelArgs),
    Vouch(vouch::VouchArgs),
    Cluster(cluster::ClusterArgs),
    Queue(queue::QueueArgs),
    Apply(apply::ApplyArgs),
    Diff(apply::DiffArgs),
    Policy(apply::PolicyArgs),
    Incidents(incidents::IncidentsArgs),
    Usage(usage::UsageArgs),
    Prices(prices::PricesArgs),
    Token(token::TokenArgs),
    Audit(audit::AuditArgs),
    Login(login::LoginArgs),
    Context(context::ContextArgs),
    Doctor(doctor::DoctorArgs),
    Lab(lab::LabArgs),
    Completion(completion::CompletionArgs),
    Version(version::VersionArgs),
}

/// Does it.
pub async fn run(verb: Verb, app: &App) -> Result<Exit, Failure> {
    match verb {
        Verb::Submit(args) => Box::pin(submit::run(args, app)).await,
        Verb::List(args) => list::run(args, app).await,
        Verb::Describe(args) => describe::run(args, app).await,
        Verb::Why(args) => why::run(args, app).await,
        Verb::Where(args) => Box::pin(place::run(args, app)).await,
        Verb::Logs(args) => logs::run(args, app).await,
        Verb::Wait(args) => wait::run(args, app).await,
        Verb::Cancel(args) => cancel::run(args, app).await,
        Verb::Vouch(args) => vouch::run(args, app).await,
        Verb::Cluster(args) => cluster::run(args, app).await,
        Verb::Queue(args) => queue::run(args, app).await,
        Verb::Apply(args) => apply::apply(args, app).await,
        Verb::Diff(args) => apply::diff(args, app).await,
        Verb::Policy(args) => apply::policy(args, app).await,
        Verb::Incidents(args) => incidents::run(args, app).await,
        Verb::Usage(args) => usage::run(args, app).await,
        Verb::Prices(args) => prices::run(args, app).await,
        Verb::Token(args) => token::run(args, app).await,
        Verb::Audit(args) => audit::run(args, app).await,
        Verb::Login(args) => login::run(args, app).await,
        Verb::Context(args) => context::run(args, app),
        Verb::Doctor(args) => doctor::run(args, app).await,
        Verb::Lab(args) => lab::run(args, app),
        Verb::Completion(args) => completion::run(&args, app),
        Verb::Version(args) => version::run(args, app).await,
    }
}
