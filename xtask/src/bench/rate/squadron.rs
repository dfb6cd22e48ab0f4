//! Squadron as a side: a control plane with its Postgres and an agent in each worker cluster, which reconciles nothing.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use serde_json::json;
use squadron_e2e::{
    command,
    stage::Stage,
    wait::{self, found_if},
};

use super::{load::Target, multikueue, side::Side};
use crate::acceptance::operator;

const PATIENCE: Duration = Duration::from_secs(600);

pub struct Squadron<'a>(pub &'a Stage);

impl Side for Squadron<'_> {
    fn name(&self) -> &'static str {
        "squadron"
    }

    fn take_over(&self) -> Result<()> {
        multikueue::over(&self.0.spec.clusters).stop()?;
        for cluster in &self.0.spec.clusters {
            operator::apply(cluster, command::root().join("deploy/crds"))?;
            operator::scale_agent(cluster, 1)?;
            self.0.wait_for_state(cluster, &["active"])?;
        }
        Ok(())
    }

    fn target(&self) -> Result<Target> {
        let (token, ca) = (self.0.token()?, self.0.data().join("tls/ca.crt"));
        let options = format!(
            "cacert = \"{}\"\nheader = \"authorization: Bearer {token}\"\nheader = \"content-type: application/json\"",
            ca.display()
        );
        let body = |manifest: &str| json!({"manifest": manifest, "queue": "default"}).to_string();
        Ok(Target { url: format!("{}/api/v1/jobs", self.0.server()), options, body })
    }

    fn clusters(&self) -> Vec<String> {
        self.0.spec.clusters.clone()
    }

    fn is_part(&self, process: &str) -> bool {
        process != "kueue"
    }

    fn received(&self, prefix: &str, _: &BTreeMap<String, f64>) -> Result<BTreeMap<String, f64>> {
        let query = format!(
            "select a.object_name || ' ' || extract(epoch from j.submitted_at)
             from job j join attempt a on a.job_id = j.id where j.name like '{prefix}-%'"
        );
        let rows = self.0.sql(&query)?;
        let parsed = rows.iter().map(|row| {
            let (name, at) = row.split_once(' ').context("a row has two words")?;
            Ok((name.to_owned(), at.parse().with_context(|| format!("reading the time {at}"))?))
        });
        parsed.collect()
    }

    fn clear(&self, prefix: &str) -> Result<()> {
        let ids = self.0.sql(&format!("select id from job where name like '{prefix}-%'"))?;
        for ids in ids.chunks(50) {
            let cancel: Vec<&str> =
                ["cancel", "--yes"].into_iter().chain(ids.iter().map(String::as_str)).collect();
            self.0.squadron(&cancel)?.ok()?;
        }
        wait::until("the jobs of the run to end", PATIENCE, || {
            let open = format!("select count(*) from job where name like '{prefix}-%' and ended_at is null");
            let left = self.0.sql(&open)?;
            Ok(found_if(left == ["0"], format!("{left:?} left")))
        })
    }
}
