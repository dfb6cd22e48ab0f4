//! `up`: what all clusters share first (packages, binaries, images), then each cluster at the same time as the others.

use std::path::Path;

use crate::args::Up;
use crate::error::{self, Error, Result};
use crate::home::Home;
use crate::images::{self, Archive};
use crate::name::Name;
use crate::progress::Progress;
use crate::provider::{self, Provider};
use crate::register::{Entry, Register, Settings};
use crate::{build, packages};

/// Brings everything up that was asked for.
pub fn run(home: &Home, up: &Up) -> Result<()> {
    let mut archives = Vec::new();
    if !up.which.clusters.is_empty() {
        packages::must_be_root()?;
        packages::ensure()?;
        archives = prepare(home, up)?;
    }
    let mut clusters = local(home, up)?;
    clusters.extend(contexts(home, up)?);
    each(&clusters, |cluster| cluster.up(&archives))?;
    for cluster in &clusters {
        println!("{}: kubeconfig {}", cluster.name(), cluster.kubeconfig()?.display());
    }
    Ok(())
}

/// Does something with every cluster at once. The first error counts, after all have ended.
pub fn each(clusters: &[Box<dyn Provider>], work: impl Fn(&dyn Provider) -> Result<()> + Sync) -> Result<()> {
    let mut outcomes = Vec::new();
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            clusters.iter().map(|cluster| scope.spawn(move || work(cluster.as_ref()))).collect();
        for one in running {
            outcomes.push(
                one.join()
                    .unwrap_or_else(|_| Err(Error::Refused("a worker of this program panicked".into()))),
            );
        }
    });
    for (cluster, outcome) in clusters.iter().zip(&outcomes) {
        if let (Err(error), true) = (outcome, clusters.len() > 1) {
            Progress::new(cluster.name().as_str()).say(&format!("failed: {}", error::sentence(error)));
        }
    }
    outcomes.into_iter().collect()
}

/// Binaries of every version that the clusters have, and the images; the pause image is the first.
fn prepare(home: &Home, up: &Up) -> Result<Vec<Archive>> {
    let register = Register::read(home)?;
    for name in &up.which.clusters {
        let version = match register.get(name) {
            Ok(Entry::Local { settings, .. }) if up.kubernetes_version.is_none() => {
                settings.kubernetes_version.clone()
            }
            _ => wanted(up).kubernetes_version,
        };
        build::ensure_cluster_binaries(home, &version)?;
    }
    let mut paths = vec![images::ensure_pause(home)?];
    if !up.no_ray {
        paths.push(images::ensure_ray(home)?);
    }
    paths.iter().map(|path| Archive::open(path)).collect()
}

fn wanted(up: &Up) -> Settings {
    let version = up.kubernetes_version.clone().unwrap_or_else(build::default_version);
    Settings { kubernetes_version: version, node_cpus: up.node_cpus, audit: up.audit }
}

fn local(home: &Home, up: &Up) -> Result<Vec<Box<dyn Provider>>> {
    Register::change(home, |register| {
        let one = |name: &Name| {
            let settings = settle(home, register.get(name).ok(), name, wanted(up));
            let number = register.allot(name, settings.clone())?;
            Ok(provider::from_entry(home, name, &Entry::Local { number, settings }))
        };
        up.which.clusters.iter().map(one).collect()
    })
}

/// A cluster that has data keeps the settings that it was made with.
fn settle(home: &Home, entry: Option<&Entry>, name: &Name, wanted: Settings) -> Settings {
    match entry {
        Some(Entry::Local { settings, .. }) if has_data(&home.cluster(name.as_str())) => {
            if *settings != wanted {
                let (version, cpus) = (&settings.kubernetes_version, settings.node_cpus);
                Progress::new(name.as_str()).say(&format!(
                    "keeps Kubernetes {version} and {cpus} CPUs as it was made; other settings take effect after `down`"
                ));
            }
            settings.clone()
        }
        _ => wanted,
    }
}

fn has_data(folder: &Path) -> bool {
    folder.join("etcd").exists()
}

fn contexts(home: &Home, up: &Up) -> Result<Vec<Box<dyn Provider>>> {
    let mut clusters = Vec::new();
    for text in &up.which.contexts {
        let (name, context) = text.split_once('=').unwrap_or((text, text));
        let name: Name = name.parse().map_err(|_| {
            Error::Refused(format!(
                "\"{name}\" cannot name a cluster; give it a name: --contexts prod={context}"
            ))
        })?;
        let kubeconfig = up.kubeconfig.clone();
        let entry = Entry::Context { context: context.to_owned(), kubeconfig };
        clusters.push(provider::from_entry(home, &name, &entry));
    }
    Ok(clusters)
}
