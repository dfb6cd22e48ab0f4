//! The provider for clusters that run as processes on this machine.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::images::Archive;
use crate::kubectl::Kubectl;
use crate::local::cluster::Cluster;
use crate::local::component::Component;
use crate::local::{cut, down, images, network, run_in, status, up};
use crate::name::Name;
use crate::process::kill_all;
use crate::program::{self, command};
use crate::provider::{Provider, Status};
use crate::register::Settings;

/// A local cluster. Commands that change it run one after the other.
pub struct Local(Cluster);

impl Local {
    /// The cluster with this name and number.
    pub fn new(home: &Home, name: Name, number: u8, settings: Settings) -> Self {
        Self(Cluster::new(home, name, number, settings))
    }

    fn must_run(&self) -> Result<()> {
        if self.0.space_file().exists() {
            return network::refuse_foreign(&self.0);
        }
        let name = &self.0.name;
        Err(Error::Refused(format!(
            "cluster {name} is down; `squadron-testbed up --clusters {name}` brings it up"
        )))
    }
}

impl Provider for Local {
    fn name(&self) -> &Name {
        &self.0.name
    }

    fn up(&self, archives: &[Archive]) -> Result<()> {
        let _held = self.0.home().lock(self.0.name.as_str())?;
        up::up(&self.0, archives)
    }

    fn down(&self, purge: bool) -> Result<()> {
        let _held = self.0.home().lock(self.0.name.as_str())?;
        down::down(&self.0, purge)
    }

    fn status(&self) -> Result<Status> {
        Ok(status::status(&self.0))
    }

    fn kubeconfig(&self) -> Result<PathBuf> {
        self.must_run()?;
        Ok(self.0.kubeconfig("admin"))
    }

    fn load_image(&self, archive: &Archive) -> Result<()> {
        self.must_run()?;
        images::load(&self.0, archive)
    }

    fn logs(&self, component: Component, lines: u32, follow: bool) -> Result<()> {
        let mut tail = command("tail", ["-n", &lines.to_string()]);
        if follow {
            tail.arg("-F");
        }
        program::pass_through("read the log", tail.arg(self.0.log(component.name())))
    }

    fn cut(&self, ports: &[u16], refuse: bool) -> Result<()> {
        self.must_run()?;
        cut::cut(&self.0, ports, refuse)
    }

    fn heal(&self) -> Result<()> {
        self.must_run()?;
        cut::heal(&self.0)
    }

    fn kill(&self, component: Component) -> Result<()> {
        match component.process(&self.0) {
            Some(process) => kill_all(&[process]),
            None => Err(Error::Refused(format!(
                "{} of cluster {} does not run; `squadron-testbed up --clusters {}` starts it",
                component.name(),
                self.0.name,
                self.0.name
            ))),
        }
    }

    fn run_in(&self, words: &[String]) -> Result<()> {
        self.must_run()?;
        run_in::exec(&self.0, words)
    }

    fn node_folder(&self) -> Result<PathBuf> {
        self.must_run()?;
        Ok(self.0.folder().to_path_buf())
    }

    fn kubectl(&self) -> Result<Kubectl> {
        self.must_run()?;
        Ok(self.0.kubectl())
    }
}
