//! What can be done with a cluster, whoever provides it.
//!
//! Owns the interface between the commands and the two providers: processes on this machine, and contexts of a
//! kubeconfig. Invariant: what a provider cannot do is an error that says so; nothing is silently skipped.

use std::path::PathBuf;

use serde::Serialize;

use crate::contexts::Context;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::images::Archive;
use crate::kubectl::Kubectl;
use crate::local::{Component, Local};
use crate::name::Name;
use crate::register::{Entry, Register};

/// One cluster.
pub trait Provider: Send + Sync {
    /// Its name in the testbed.
    fn name(&self) -> &Name;
    /// Makes it usable, with these images loaded.
    fn up(&self, archives: &[Archive]) -> Result<()>;
    /// Takes it away. With `purge`, also what makes the next `up` quick.
    fn down(&self, purge: bool) -> Result<()>;
    /// What is known of it now.
    fn status(&self) -> Result<Status>;
    /// An administrator's kubeconfig that works from this machine.
    fn kubeconfig(&self) -> Result<PathBuf>;
    /// Loads an image archive into its nodes.
    fn load_image(&self, archive: &Archive) -> Result<()>;
    /// Prints the last lines of a component's log, and with `follow` those to come.
    fn logs(&self, component: Component, lines: u32, follow: bool) -> Result<()>;
    /// Drops all traffic between it and these ports of the control plane's host, or answers it with a reset.
    fn cut(&self, ports: &[u16], refuse: bool) -> Result<()>;
    /// Lets that traffic through again.
    fn heal(&self) -> Result<()>;
    /// Kills a component without warning.
    fn kill(&self, component: Component) -> Result<()>;
    /// Replaces this process by a command on the node.
    fn run_in(&self, words: &[String]) -> Result<()>;
    /// Folder that the node sees under the same path, for the fakes' files.
    fn node_folder(&self) -> Result<PathBuf>;
    /// kubectl as an administrator.
    fn kubectl(&self) -> Result<Kubectl>;
}

/// What `status` prints about a cluster.
#[derive(Debug, Serialize)]
pub struct Status {
    pub name: String,
    /// `local` or `context`.
    pub provider: &'static str,
    /// `up`, `partly up`, `down` or `unreachable`, with the reason where there is one.
    pub state: String,
    /// Version that the API server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Address of the API server.
    pub api_server: String,
    /// True while the traffic to the control plane is dropped.
    pub is_cut: bool,
    pub components: Vec<ComponentStatus>,
}

/// One running component.
#[derive(Debug, Serialize)]
pub struct ComponentStatus {
    pub name: &'static str,
    pub pid: i32,
    pub resident_mib: u64,
}

/// The provider of a cluster that the register knows.
pub fn of(home: &Home, name: &Name) -> Result<Box<dyn Provider>> {
    Ok(from_entry(home, name, Register::read(home)?.get(name)?))
}

/// Providers of all clusters, or of those named.
pub fn of_all(home: &Home, names: &[Name]) -> Result<Vec<Box<dyn Provider>>> {
    let names = if names.is_empty() { Register::read(home)?.names()? } else { names.to_vec() };
    names.iter().map(|name| of(home, name)).collect()
}

/// The provider that an entry stands for.
pub fn from_entry(home: &Home, name: &Name, entry: &Entry) -> Box<dyn Provider> {
    match entry {
        Entry::Local { number, settings } => {
            Box::new(Local::new(home, name.clone(), *number, settings.clone()))
        }
        Entry::Context { context, kubeconfig } => {
            Box::new(Context::new(home, name.clone(), context.clone(), kubeconfig.clone()))
        }
    }
}

/// The error for what a provider cannot do.
pub fn not_possible<T>(what: &str, name: &Name, instead: &str) -> Result<T> {
    Err(Error::Refused(format!(
        "{what} is not possible with {name}, which is a context of your own kubeconfig; {instead}"
    )))
}
