//! The provider for clusters that a person already has: contexts of a kubeconfig.
//!
//! Owns a copy of each context's kubeconfig below the home folder. Invariant: only a context that answered is recorded,
//! and the testbed makes and removes nothing on such a cluster. What needs the node itself is refused with what to do instead.
//! Fails when the context is unknown or its API server does not answer; the error carries kubectl's words.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{default_version, kubernetes_binary};
use crate::error::Result;
use crate::files;
use crate::home::Home;
use crate::images::Archive;
use crate::kubectl::Kubectl;
use crate::local::Component;
use crate::name::Name;
use crate::program;
use crate::progress::Progress;
use crate::provider::{Provider, Status, not_possible};
use crate::register::Register;

/// A cluster behind a context.
pub struct Context {
    home: Home,
    name: Name,
    context: String,
    /// Where the context is read from; the user's default places when absent.
    source: Option<PathBuf>,
}

impl Context {
    /// The cluster that this context names.
    pub fn new(home: &Home, name: Name, context: String, source: Option<PathBuf>) -> Self {
        Self { home: home.clone(), name, context, source }
    }

    fn copy(&self) -> PathBuf {
        self.home.cluster(self.name.as_str()).join("admin.kubeconfig")
    }

    /// The testbed's own kubectl if it was built, else the one in the search path.
    fn program(&self) -> PathBuf {
        let built = kubernetes_binary(&self.home, &default_version(), "kubectl");
        if built.exists() { built } else { PathBuf::from("kubectl") }
    }

    fn extract(&self) -> Result<String> {
        let mut command = Command::new(self.program());
        if let Some(source) = &self.source {
            command.arg("--kubeconfig").arg(source);
        }
        command.args(["config", "view", "--raw", "--minify", "--flatten", "--context", &self.context]);
        program::run(&format!("read the context {}", self.context), &mut command)
    }

    fn refuse<T>(&self, what: &str, instead: &str) -> Result<T> {
        not_possible(what, &self.name, instead)
    }
}

impl Provider for Context {
    fn name(&self) -> &Name {
        &self.name
    }

    fn up(&self, _archives: &[Archive]) -> Result<()> {
        Register::read(&self.home)?.must_not_be_local(&self.name)?;
        let copy = self.copy();
        files::folder(copy.parent().unwrap_or(Path::new("/")))?;
        files::replace_secret(&copy, self.extract()?)?;
        let version = self.kubectl()?.server_version()?;
        Register::change(&self.home, |register| {
            register.record(&self.name, self.context.clone(), self.source.clone())
        })?;
        Progress::new(self.name.as_str())
            .say(&format!("context {} answers, Kubernetes {version}", self.context));
        Ok(())
    }

    fn down(&self, _purge: bool) -> Result<()> {
        files::remove(&self.home.cluster(self.name.as_str()))
    }

    fn status(&self) -> Result<Status> {
        let version = self.kubectl()?.server_version();
        let server = ["config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"];
        Ok(Status {
            name: self.name.to_string(),
            provider: "context",
            state: version.as_ref().map_or_else(|error| format!("unreachable: {error}"), |_| "up".into()),
            kubernetes_version: version.ok(),
            api_server: self.kubectl()?.run("read the server's address", &server)?,
            is_cut: false,
            components: Vec::new(),
        })
    }

    fn kubeconfig(&self) -> Result<PathBuf> {
        Ok(self.copy())
    }

    fn load_image(&self, archive: &Archive) -> Result<()> {
        let path = archive.path.display();
        let instead = format!(
            "load {path} with the tool that made the cluster, for example `kind load image-archive {path}`, \
             or push it to a registry that the cluster reads"
        );
        self.refuse("loading an image", &instead)
    }

    fn logs(&self, component: Component, _lines: u32, _follow: bool) -> Result<()> {
        self.refuse(
            &format!("reading the log of {}", component.name()),
            "look where that cluster keeps its logs",
        )
    }

    fn cut(&self, _ports: &[u16], _refuse: bool) -> Result<()> {
        self.refuse("cutting the network", "use a firewall between the cluster and the control plane")
    }

    fn heal(&self) -> Result<()> {
        self.refuse("healing a cut", "the testbed never cut it")
    }

    fn kill(&self, component: Component) -> Result<()> {
        self.refuse(&format!("killing {}", component.name()), "end it on that cluster's own machine")
    }

    fn run_in(&self, _words: &[String]) -> Result<()> {
        self.refuse("running a command on the node", "run it in a pod")
    }

    fn node_folder(&self) -> Result<PathBuf> {
        self.refuse("a file on the node", "write it there by your own means")
    }

    fn kubectl(&self) -> Result<Kubectl> {
        Ok(Kubectl { program: self.program(), kubeconfig: self.copy() })
    }
}
