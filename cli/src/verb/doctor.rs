//! `doctor`: tests each step between this terminal and the clusters, and says what to repair.
//!
//! The first step that fails ends the tests that build on it; its exit code becomes the command's.

use clap::Args;
use squadron_api::{Page, cluster::Cluster};
use squadron_core::time::Timestamp;

use crate::{
    app::App,
    client::Client,
    clock::now,
    exit::Exit,
    failure::Failure,
    render::{
        plain,
        style::Style,
        time::{absolute, age},
    },
};

const HELP: &str = "\
Examples:
  squadron doctor
  squadron doctor --server https://127.0.0.1:8443 --ca ca.crt --token-file admin.token

Exits 0 when nothing failed; warnings do not count.";

/// More than this between two clocks makes ages misleading, in milliseconds.
const TOLERATED_SKEW: i64 = 2_000;

/// Test connection, TLS, token, clocks, versions and clusters
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct DoctorArgs {}

pub async fn run(_args: DoctorArgs, app: &App) -> Result<Exit, Failure> {
    let mut report = Report { app, worst: Exit::Ok };
    let Some(client) = report.configuration()? else { return Ok(report.worst) };
    if report.connection(&client).await? && report.token(&client).await? {
        report.clusters(&client).await?;
    }
    Ok(report.worst)
}

/// Prints one line for each step and remembers the first failure.
struct Report<'a> {
    app: &'a App,
    worst: Exit,
}

impl Report<'_> {
    fn line(&self, word: &str, style: Style, step: &str, sentence: &str) -> Result<(), Failure> {
        let word = style.paint(&format!("{word:<4}"), self.app.out.colour);
        self.app.out.data(&format!("{word}  {step:<10}  {}\n", plain(sentence)))
    }

    fn good(&self, step: &str, sentence: &str) -> Result<(), Failure> {
        self.line("ok", Style::Good, step, sentence)
    }

    fn warn(&self, step: &str, sentence: &str) -> Result<(), Failure> {
        self.line("warn", Style::Waiting, step, sentence)
    }

    fn bad(&mut self, step: &str, failure: &Failure) -> Result<(), Failure> {
        if self.worst == Exit::Ok {
            self.worst = failure.exit;
        }
        let text = failure.lines();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default().trim_start_matches("error: ");
        self.line("FAIL", Style::Bad, step, first)?;
        lines.try_for_each(|line| self.app.out.data(&format!("                  {}\n", line.trim_start())))
    }

    fn configuration(&mut self) -> Result<Option<Client>, Failure> {
        let connection = match self.app.connection() {
            Ok(connection) => connection,
            Err(failure) => return self.bad("settings", &failure).map(|()| None),
        };
        let source = match connection.context.as_str() {
            "" => "from flags and environment".to_owned(),
            name => format!("from context {name}"),
        };
        let trust =
            connection.ca.as_ref().map_or("the system's CAs".into(), |path| path.display().to_string());
        self.good("settings", &format!("{} {source}, trusting {trust}", connection.address()))?;
        match Client::new(connection, self.app.connect.debug) {
            Ok(client) => Ok(Some(client)),
            Err(failure) => self.bad("settings", &failure).map(|()| None),
        }
    }

    /// One request that needs no token shows name resolution, TCP, TLS, version and clock.
    async fn connection(&mut self, client: &Client) -> Result<bool, Failure> {
        let sent = now();
        let about = match client.about().await {
            Ok(about) => about,
            Err(error) => return self.bad("connection", &error.into()).map(|()| false),
        };
        let took = now().millis_since(sent);
        let tls = if client.is_encrypted() { "TLS certificate trusted" } else { "no TLS" };
        self.good("connection", &format!("answered in {took} ms, {tls}"))?;
        self.clock(about.now, sent, took)?;
        self.versions(&about.version)?;
        Ok(true)
    }

    fn clock(&self, server: Timestamp, sent: Timestamp, took: i64) -> Result<(), Failure> {
        let skew = skew(server, sent, took);
        let side = if skew > 0 { "behind" } else { "ahead of" };
        match skew.abs() {
            0 => self.good("clock", &format!("within {took} ms of the server's")),
            off if off <= TOLERATED_SKEW => self.good("clock", &format!("{off} ms {side} the server's")),
            off => {
                self.warn("clock", &format!("{off} ms {side} the server's; ages shown here are off by that"))
            }
        }
    }

    fn versions(&self, server: &str) -> Result<(), Failure> {
        let own = env!("CARGO_PKG_VERSION");
        if server == own {
            self.good("version", &format!("both {own}"))
        } else {
            self.warn("version", &format!("this program is {own}, the server {server}"))
        }
    }

    async fn token(&mut self, client: &Client) -> Result<bool, Failure> {
        match client.me().await {
            Ok(me) => self.good("token", &format!("{} with role {}", me.subject, me.role)).map(|()| true),
            Err(error) => self.bad("token", &error.into()).map(|()| false),
        }
    }

    async fn clusters(&mut self, client: &Client) -> Result<(), Failure> {
        match client.clusters().await {
            Err(error) => self.bad("clusters", &error.into()),
            Ok(page) if page.items.is_empty() => self.warn(
                "clusters",
                &format!("none yet; invite one with {} cluster add NAME", self.app.program),
            ),
            Ok(page) => self.each_cluster(&page),
        }
    }

    fn each_cluster(&self, page: &Page<Cluster>) -> Result<(), Failure> {
        for cluster in &page.items {
            let (worry, sentence) = judge_cluster(cluster, page.as_of);
            if worry { self.warn("cluster", &sentence)? } else { self.good("cluster", &sentence)? }
        }
        Ok(())
    }
}

/// How far our clock is off, in milliseconds, beyond what the request's own time explains; positive when we are behind.
fn skew(server: Timestamp, sent: Timestamp, took: i64) -> i64 {
    let after_sent = server.millis_since(sent);
    if after_sent > took { after_sent - took } else { after_sent.min(0) }
}

/// Whether a person should look, and the sentence.
fn judge_cluster(cluster: &Cluster, now: Timestamp) -> (bool, String) {
    let name = &cluster.name;
    if !cluster.alarm.is_empty() {
        return (true, format!("{name}: {}", cluster.alarm));
    }
    if cluster.untold {
        return (true, format!("{name}: {}", cluster.sentence));
    }
    if let Some(since) = cluster.silent_since {
        return (true, format!("{name} is silent since {} ({})", absolute(since), age(since, now)));
    }
    if let Some(skew) = cluster.clock_skew_ms.filter(|skew| skew.abs() > TOLERATED_SKEW) {
        return (true, format!("{name} is heard, but its clock is off by {skew} ms"));
    }
    match (cluster.state.as_str(), cluster.last_heard_at) {
        ("active", Some(at)) => (false, format!("{name} was heard {} ago", age(at, now))),
        _ => (true, format!("{name} is {}: {}", cluster.state, cluster.sentence)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{cluster::tests::silent, job::tests::NOW};

    #[test]
    fn time_on_the_way_is_no_skew() {
        assert_eq!(skew(NOW.plus_millis(40), NOW, 90), 0);
        assert_eq!(skew(NOW.plus_millis(5_090), NOW, 90), 5_000);
        assert_eq!(skew(NOW.plus_millis(-3_000), NOW, 90), -3_000);
    }

    #[test]
    fn silent_cluster_and_wrong_clock_are_worth_a_look() {
        assert_eq!(
            judge_cluster(&silent(), NOW),
            (true, "east is silent since 2026-11-30T00:57:20Z (6 m)".into())
        );
        let heard = Cluster { state: "active".into(), silent_since: None, ..silent() };
        assert_eq!(judge_cluster(&heard, NOW), (false, "east was heard 6 m ago".into()));
        let off = Cluster { clock_skew_ms: Some(-9_000), ..heard };
        assert!(judge_cluster(&off, NOW).0);
    }
}
