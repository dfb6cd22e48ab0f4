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
    let mut changes = BTreeMap::new();
    for text in labels {
        let (key, value) = change(text)?;
        if changes.insert(key.to_owned(), value.map(str::to_owned)).is_some() {
            return Err(Failure::usage(format!("label {key:?} is named twice"))
                .next("name each label once, to set it or to remove it"));
        }
    }
    Ok(changes)
}

fn change(text: &str) -> Result<(&str, Option<&str>), Failure> {
    match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) => Ok((key, Some(value))),
        (None, Some(key)) => Ok((key, None)),
        (None, None) => Err(Failure::usage(format!("{text:?} is no change of a label"))
            .next("write KEY=VALUE to set it, KEY- to remove it")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(labels: &[&str]) -> Result<BTreeMap<String, Option<String>>, Failure> {
        changes(&labels.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn labels_are_set_and_removed_each_once() {
        let both = of(&["region=eu-", "data/imagenet-"]).unwrap();
        assert_eq!(both["region"].as_deref(), Some("eu-"));
        assert_eq!(both["data/imagenet"], None);
        assert!(of(&["region"]).is_err());
        for twice in [["region=eu", "region-"], ["region=eu", "region=us"], ["region-", "region-"]] {
            assert!(of(&twice).is_err(), "{twice:?}");
        }
    }
}
