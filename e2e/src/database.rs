//! A look into the control plane's database, for what no answer shows: which facts were kept.

use anyhow::{Context, Result};

use crate::{command, stage::Stage};

/// The user that runs the private Postgres and the only one who may connect.
const USER: &str = "postgres";

impl Stage {
    /// The rows of a query, one a line, columns separated by `|`.
    pub fn sql(&self, query: &str) -> Result<Vec<String>> {
        let socket = self.data().join("socket").to_string_lossy().into_owned();
        let mut psql = command::new("runuser");
        psql.current_dir("/")
            .args(["-u", USER, "--", "psql", "-h", &socket, "-d", "squadron", "-AtX", "-c", query]);
        Ok(command::output(&mut psql)?.lines().map(str::to_owned).collect())
    }

    /// Epochs of a cluster whose facts have a gap or do not begin with 1, each with what is there. Empty is good.
    pub fn gaps(&self, cluster: &str) -> Result<Vec<String>> {
        self.sql(&format!(
            "select f.epoch, min(f.seq), max(f.seq), count(distinct f.seq) from fact f join cluster c on c.id = f.cluster_id
             where c.name = '{cluster}' group by f.epoch
             having min(f.seq) <> 1 or max(f.seq) <> count(distinct f.seq)"
        ))
    }

    /// The pid of the private Postgres.
    pub fn postgres_pid(&self) -> Result<u32> {
        let path = self.data().join("postgres/postmaster.pid");
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        text.lines().next().unwrap_or_default().trim().parse().context("reading the pid of Postgres")
    }
}
