//! The file `~/.config/squadron/config.yaml`: named contexts and which of them is current.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{ConfigError, Token};

/// What is saved between two commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    pub contexts: BTreeMap<String, Context>,
}

/// One control plane and how to be known there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    pub server: String,
    /// PEM file of the only CA that is trusted; the system's roots when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
}

/// `$XDG_CONFIG_HOME/squadron/config.yaml`, or below `~/.config`.
pub fn default_path(env: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, ConfigError> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CONFIG_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".config")))
        .map(|folder| folder.join("squadron").join("config.yaml"))
        .ok_or(ConfigError::NoHome)
}

/// An absent file is an empty configuration. One that holds a token must be private.
pub fn read(path: &Path) -> Result<Config, ConfigError> {
    let unreadable = |source| ConfigError::Read { path: path.to_owned(), source };
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
        other => other.map_err(unreadable)?,
    };
    let config: Config = serde_yaml_ng::from_str(&text)
        .map_err(|source| ConfigError::Syntax { path: path.to_owned(), source })?;
    let mode = fs::metadata(path).map_err(unreadable)?.permissions().mode() & 0o777;
    let holds_token = config.contexts.values().any(|context| context.token.is_some());
    if holds_token && mode & 0o077 != 0 {
        return Err(ConfigError::Exposed { path: path.to_owned(), mode });
    }
    Ok(config)
}

/// Replaces the file in one step, readable by its owner alone.
pub fn write(path: &Path, config: &Config) -> Result<(), ConfigError> {
    let failed = |source| ConfigError::Write { path: path.to_owned(), source };
    let text = serde_yaml_ng::to_string(config)
        .map_err(|source| ConfigError::Syntax { path: path.to_owned(), source })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let draft = folder.join(format!(".config.yaml.{}", std::process::id()));
    write_private(&draft, &text).and_then(|()| fs::rename(&draft, path)).map_err(|source| {
        let _ = fs::remove_file(&draft);
        failed(source)
    })
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn with_token() -> Config {
        let context = Context {
            server: "https://localhost:8443".into(),
            ca: None,
            token_file: None,
            token: Some(Token::parse("sqd_x").unwrap()),
        };
        Config { current: Some("demo".into()), contexts: BTreeMap::from([("demo".into(), context)]) }
    }

    #[test]
    fn file_is_written_private_and_reads_back_equal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("squadron/config.yaml");
        write(&path, &with_token()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), with_token());
    }

    #[test]
    fn token_in_a_file_that_the_group_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        write(&path, &with_token()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read(&path), Err(ConfigError::Exposed { mode: 0o640, .. })));
    }

    #[test]
    fn absent_file_is_empty_and_a_typo_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        assert_eq!(read(&path).unwrap(), Config::default());
        fs::write(&path, "contexts: {demo: {sever: x}}").unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(&error, ConfigError::Syntax { source, .. } if source.to_string().contains("sever")));
    }
}
