//! `cluster label`: what jobs name clusters by in their preferences.

use std::collections::BTreeMap;

use clap::Args;

use crate::{
    app::App,
    exit::Exit,
    failure::Failure,
    render::{cluster, plain},
};

pub const HELP: &str = "\
Examples:
  squadron cluster label east region=eu-west-1 data/imagenet=near
  squadron cluster label east data/imagenet-

Jobs name clusters by these in --prefer, --avoid, --residency and --data. Regions and zones that nodes report themselves \
(topology.kubernetes.io/region and zone) count before region and zone here. Other labels stay.";

/// What to change.
#[derive(Debug, Args)]
pub struct LabelArgs {
    /// Name or id
    name: String,
    /// KEY=VALUE sets a label, KEY- removes it
    #[arg(required = true, value_name = "KEY=VALUE|KEY-")]
    labels: Vec<String>,
}

pub async fn run(args: &LabelArgs, app: &App) -> Result<Exit, Failure> {
    let changed = app.client()?.label_cluster(&args.name, changes(&args.labels)?).await?;
    let shown = cluster::labels(&changed);
    app.out.note(&format!("cluster {} has the labels {shown}", plain(&changed.name)));
    Ok(Exit::Ok)
}

/// Labels to set, and without a value those to remove, as kubectl writes them.
fn changes(labels: &[String]) -> Result<BTreeMap<String, Option<String>>, Failure> {
    labels
        .iter()
        .map(|text| match (text.split_once('='), text.strip_suffix('-')) {
            (Some((key, value)), _) => Ok((key.to_owned(), Some(value.to_owned()))),
            (None, Some(key)) => Ok((key.to_owned(), None)),
            (None, None) => Err(Failure::usage(format!("{text:?} is no change of a label"))
                .next("write KEY=VALUE to set it, KEY- to remove it")),
        })
        .collect()
}
