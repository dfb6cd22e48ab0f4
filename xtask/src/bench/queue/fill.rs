//! Filling: a full fleet and jobs that wait for it, put into a control plane's own database by SQL.
//!
//! Invariant: rows look as the control plane would have written them; jobs come without classes, which the dispatcher gives them
//! as it does for jobs of older versions.

use std::{
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};
use squadron_e2e::command;

/// The user that runs the private Postgres and the only one who may connect.
const USER: &str = "postgres";

/// Ten clusters of a hundred nodes of 64 cores, on which one pod each leaves half a core.
const FLEET: &str = "
    insert into cluster (id, name, state, created_at, accepted_at, last_heard_at)
    select gen_random_uuid(), 'bench-' || n, 'active', now(), now(), now() from generate_series(1, 10) n;
    insert into node (cluster_id, uid, name, ready, unschedulable, capacity_cpu_milli, capacity_memory_bytes, capacity_gpus,
                      allocatable_cpu_milli, allocatable_memory_bytes, allocatable_gpus, first_seen_at, observed_at, epoch, seq)
    select c.id, 'n' || n, 'n' || n, true, false, 64000, 274877906944, 8, 64000, 274877906944, 8, now(), now(), 1, n
    from cluster c, generate_series(1, 100) n;
    insert into pod (cluster_id, uid, namespace, name, node, phase, ready, cpu_milli, memory_bytes, gpus, observed_at, epoch, seq)
    select cluster_id, 'p' || name, 'default', 'p' || name, name, 'Running', true, 63500, 1073741824, 8, now(), 1, seq from node;
    insert into queue (name, created_at) select 'q' || n, now() from generate_series(1, 20) n;";

fn psql(data: &Path) -> Command {
    let socket = data.join("socket").to_string_lossy().into_owned();
    let mut psql = command::new("runuser");
    psql.current_dir("/").args(["-u", USER, "--", "psql", "-h", &socket, "-d", "squadron", "-qXAt"]);
    psql.args(["-v", "ON_ERROR_STOP=1"]);
    psql
}

/// Runs a script in the database. Answers what it prints.
fn sql(data: &Path, script: &str) -> Result<String> {
    command::output(psql(data).args(["-c", script]))
}

/// Keeps the clusters heard, in the place of the agents that are not there, until it is dropped.
pub struct Heard(Child);

impl Heard {
    pub fn keep(data: &Path) -> Result<Heard> {
        let mut child = psql(data).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut script = child.stdin.take().context("psql has no input")?;
        script.write_all(b"update cluster set last_heard_at = now() \\watch 2\n")?;
        Ok(Heard(child))
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        // It ends by itself as soon as the database stops.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// The fleet and the queues q1 to q20.
pub fn fleet(data: &Path) -> Result<()> {
    sql(data, FLEET).map(drop)
}

/// So many jobs named bench-1, bench-2 and so on, over twenty queues, ten shapes and fifty owners.
pub fn jobs(data: &Path, count: u32) -> Result<()> {
    sql(
        data,
        &format!(
            "insert into job (id, name, namespace, queue, state, owner, manifest, rayjob, gang, submitted_at)
             select gen_random_uuid(), 'bench-' || n, 'default', 'q' || 1 + n % 20, 'queued', 'u' || n % 50, repeat('x', 1000),
                    repeat('y', 1000),
                    jsonb_build_array(jsonb_build_object('role', 'head', 'count', 1, 'cpu_milli', 1000 * (1 + n / 20 % 10),
                                                         'memory_bytes', 1073741824, 'gpus', 0)),
                    now() - interval '1 day' + n * interval '10 milliseconds'
             from generate_series(1, {count}) n"
        ),
    )?;
    Ok(())
}

/// Whether jobs wait to which the dispatcher has not given a class.
pub fn has_stragglers(data: &Path) -> Result<bool> {
    let query = "select exists (select 1 from job where state = 'queued' and class_id is null)";
    Ok(sql(data, query)?.trim() == "t")
}

/// What the database does by itself some time after so many rows were written.
pub fn settle(data: &Path) -> Result<()> {
    sql(data, "vacuum analyze").map(drop)
}
