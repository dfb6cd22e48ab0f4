//! The command line of `squadron-control-plane serve`.

use std::{net::SocketAddr, path::PathBuf};

/// Runs the control plane.
#[derive(Clone, Debug, clap::Args)]
pub struct Serve {
    /// Folder for certificates, the first administrator's token and, without --database-url, the database.
    #[arg(long, env = "SQUADRON_DATA")]
    pub data: PathBuf,
    /// Postgres to use, for example postgres://squadron@db/squadron; without it a private one runs in the data folder.
    #[arg(long, env = "SQUADRON_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Address for people: console and API.
    #[arg(long, env = "SQUADRON_LISTEN", default_value = "127.0.0.1:8443")]
    pub listen: SocketAddr,
    /// Address for agents.
    #[arg(long, env = "SQUADRON_AGENT_LISTEN", default_value = "0.0.0.0:7443")]
    pub agent_listen: SocketAddr,
    /// How agents reach --agent-listen.
    #[arg(
        long,
        env = "SQUADRON_AGENT_ADDRESS",
        default_value = "https://control-plane.squadron.internal:7443"
    )]
    pub agent_address: String,
    /// How people reach --listen; links in answers begin with it. Made from --listen by default.
    #[arg(long, env = "SQUADRON_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Further names that the certificate carries.
    #[arg(long = "tls-name", env = "SQUADRON_TLS_NAMES", value_delimiter = ',')]
    pub tls_names: Vec<String>,
    /// Certificate chain (PEM) to serve with, instead of one of our own.
    #[arg(long, env = "SQUADRON_TLS_CERT", requires_all = ["tls_key", "tls_ca"])]
    pub tls_cert: Option<PathBuf>,
    /// Private key (PEM) of --tls-cert.
    #[arg(long, env = "SQUADRON_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Certificates (PEM) that agents need to trust --tls-cert.
    #[arg(long, env = "SQUADRON_TLS_CA", requires = "tls_cert")]
    pub tls_ca: Option<PathBuf>,
    /// Seconds that the RayJob of a finished job stays in its cluster.
    #[arg(long, env = "SQUADRON_FINISHED_RETENTION", default_value_t = 300)]
    pub finished_retention: u32,
    /// Seconds between an agent's heartbeats, 1 to 60; two missed and its cluster counts as silent.
    #[arg(long, env = "SQUADRON_HEARTBEAT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub heartbeat: u32,
    /// Seconds that an agent's lease lasts, at most 86400; a lost cluster's fenced jobs start elsewhere when lease and guard
    /// are over, and a cut that is shorter stops nothing.
    #[arg(long, env = "SQUADRON_LEASE", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub lease: u32,
    /// Seconds that an attempt runs at least before it may be stopped for another job; twice as long after each such stop.
    #[arg(long, env = "SQUADRON_PROTECTED_RUN", default_value_t = 600, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub protected_run: u32,
    /// Connections that one address may hold on the agent listener before its agents have said who they are.
    #[arg(long, env = "SQUADRON_STRANGERS_PER_ADDRESS", default_value_t = 32)]
    pub strangers_per_address: usize,
}

impl Serve {
    /// Names of the certificate that we make: this machine, the name inside clusters, what was asked for.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            ["localhost", "127.0.0.1", "::1", "control-plane.squadron.internal"].map(str::to_owned).to_vec();
        for address in [self.listen.ip(), self.agent_listen.ip()] {
            if !address.is_unspecified() {
                names.push(address.to_string());
            }
        }
        names.extend(self.tls_names.iter().cloned());
        names.extend(host_of(&self.agent_address));
        names.extend(self.public_url.as_deref().and_then(host_of));
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }
}

/// The host of a URL, without port and brackets.
fn host_of(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    uri.host().map(|host| host.trim_matches(['[', ']']).to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: Serve,
    }

    #[test]
    fn the_certificate_carries_every_name_once() {
        let line = Line::parse_from([
            "serve",
            "--data=/d",
            "--agent-address=https://agents.example:7443",
            "--tls-name=a.example,localhost",
        ]);
        let expected = [
            "localhost",
            "127.0.0.1",
            "::1",
            "control-plane.squadron.internal",
            "a.example",
            "agents.example",
        ];
        assert_eq!(line.serve.names(), expected);
    }
}
