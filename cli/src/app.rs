//! App: what every verb is handed: the streams, the clock, and a way to the control plane.

use std::path::PathBuf;

use squadron_core::time::Timestamp;

use crate::{
    args::ConnectArgs,
    client::Client,
    config::{self, Config, Connection, Wishes},
    failure::Failure,
    out::Out,
    render::View,
};

/// One run of the command.
#[derive(Debug)]
pub struct App {
    pub out: Out,
    /// `squadron` or `kubectl squadron`.
    pub program: &'static str,
    pub connect: ConnectArgs,
}

impl App {
    pub fn new(connect: ConnectArgs, program: &'static str) -> Self {
        App { out: Out::detect(), program, connect }
    }

    pub fn config_path(&self) -> Result<PathBuf, Failure> {
        match &self.connect.config {
            Some(path) => Ok(path.clone()),
            None => Ok(config::default_path(&|name| std::env::var(name).ok())?),
        }
    }

    pub fn config(&self) -> Result<Config, Failure> {
        Ok(config::read(&self.config_path()?)?)
    }

    /// Where flags, environment and file lead.
    pub fn connection(&self) -> Result<Connection, Failure> {
        let config = match self.config() {
            Ok(config) => config,
            Err(failure) if self.connect.server.is_none() => return Err(failure),
            Err(_) => Config::default(),
        };
        Ok(config::resolve(&self.wishes(), &config)?)
    }

    pub fn wishes(&self) -> Wishes {
        let connect = self.connect.clone();
        Wishes {
            context: connect.context.filter(|name| !name.is_empty()),
            server: connect.server.filter(|server| !server.is_empty()),
            ca: connect.ca.filter(|path| !path.as_os_str().is_empty()),
            token_file: connect.token_file.filter(|path| !path.as_os_str().is_empty()),
            token: std::env::var("SQUADRON_TOKEN").ok().filter(|token| !token.is_empty()),
        }
    }

    pub fn client(&self) -> Result<Client, Failure> {
        Client::new(self.connection()?, self.connect.debug)
    }

    /// How text on stdout is read, at `now`.
    pub fn view(&self, now: Timestamp) -> View {
        View { now, colour: self.out.colour, width: self.out.width() }
    }
}
