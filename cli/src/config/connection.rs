//! From flags, environment and file to one connection; flags win over the environment, that over the file.

use std::path::{Path, PathBuf};

use reqwest::Url;

use super::{Config, ConfigError, Context, Token, read_token_file};

/// What flags and environment ask for; each wins over the context.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    pub context: Option<String>,
    pub server: Option<String>,
    pub ca: Option<PathBuf>,
    pub token_file: Option<PathBuf>,
    /// Only from the environment: a command line is visible to every process.
    pub token: Option<String>,
}

/// Everything needed to speak to one control plane.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Name of the context it came from; empty when it came from flags or environment alone.
    pub context: String,
    pub server: Url,
    pub ca: Option<PathBuf>,
    pub token: Option<Token>,
}

impl Connection {
    /// The server as people write it: without the slash at the end.
    pub fn address(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }
}

/// Chooses the connection. The context's token and CA are used only for the context's own server.
pub fn resolve(wishes: &Wishes, config: &Config) -> Result<Connection, ConfigError> {
    let chosen = chosen_context(wishes, config)?;
    let server_text = match (&wishes.server, chosen) {
        (Some(server), _) => server.clone(),
        (None, Some((_, context))) => context.server.clone(),
        (None, None) => return Err(ConfigError::NoServer),
    };
    let server = parse_server(&server_text)?;
    let own = chosen.filter(|(_, context)| parse_server(&context.server).is_ok_and(|saved| saved == server));
    Ok(Connection {
        context: own.map(|(name, _)| name.to_owned()).unwrap_or_default(),
        ca: wishes.ca.clone().or_else(|| own.and_then(|(_, context)| context.ca.clone())),
        token: token(wishes, own.map(|(_, context)| context))?,
        server,
    })
}

fn chosen_context<'a>(
    wishes: &'a Wishes,
    config: &'a Config,
) -> Result<Option<(&'a str, &'a Context)>, ConfigError> {
    let Some(name) = wishes.context.as_deref().or(config.current.as_deref()) else { return Ok(None) };
    match config.contexts.get(name) {
        Some(context) => Ok(Some((name, context))),
        None if wishes.server.is_some() && wishes.context.is_none() => Ok(None),
        None => Err(ConfigError::UnknownContext { name: name.to_owned(), known: known_names(config) }),
    }
}

fn known_names(config: &Config) -> String {
    let names: Vec<&str> = config.contexts.keys().map(String::as_str).collect();
    if names.is_empty() { "none yet".into() } else { names.join(", ") }
}

fn token(wishes: &Wishes, context: Option<&Context>) -> Result<Option<Token>, ConfigError> {
    if let Some(path) = &wishes.token_file {
        return read_token_file(path).map(Some);
    }
    if let Some(text) = &wishes.token {
        let bad = |problem| ConfigError::BadToken { path: Path::new("SQUADRON_TOKEN").to_owned(), problem };
        return Token::parse(text).map(Some).map_err(bad);
    }
    match context {
        Some(Context { token: Some(token), .. }) => Ok(Some(token.clone())),
        Some(Context { token_file: Some(path), .. }) => read_token_file(path).map(Some),
        _ => Ok(None),
    }
}

/// Accepts https anywhere and http on this machine only; drops path, query and user.
fn parse_server(text: &str) -> Result<Url, ConfigError> {
    let bad = |problem: &str| ConfigError::BadServer { text: text.to_owned(), problem: problem.to_owned() };
    let url: Url = text.parse().map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let host = url.host_str().ok_or_else(|| bad("names no host"))?;
    let local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("must not hold a user or password"));
    }
    match url.scheme() {
        "https" => url.join("/").map_err(|_| bad("cannot be read")),
        "http" if local => url.join("/").map_err(|_| bad("cannot be read")),
        "http" => Err(bad("would send the token in the clear")),
        _ => Err(bad("does not begin with https://")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;

    fn saved() -> Config {
        let context = |server: &str, token: &str| Context {
            server: server.into(),
            ca: Some("/ca.crt".into()),
            token_file: None,
            token: Some(Token::parse(token).unwrap()),
        };
        Config {
            current: Some("east".into()),
            contexts: BTreeMap::from([
                ("east".to_owned(), context("https://east:8443", "sqd_east")),
                ("west".to_owned(), context("https://west:8443/", "sqd_west")),
            ]),
        }
    }

    #[test]
    fn current_context_is_used_and_a_named_one_wins() {
        let current = resolve(&Wishes::default(), &saved()).unwrap();
        assert_eq!((current.context.as_str(), current.server.as_str()), ("east", "https://east:8443/"));
        let named = resolve(&Wishes { context: Some("west".into()), ..Wishes::default() }, &saved()).unwrap();
        assert_eq!(named.token.unwrap().bearer(), "Bearer sqd_west");
    }

    #[test]
    fn token_of_a_context_never_goes_to_another_server() {
        let wishes = Wishes { server: Some("https://elsewhere:8443".into()), ..Wishes::default() };
        let connection = resolve(&wishes, &saved()).unwrap();
        assert_eq!((connection.token, connection.ca), (None, None));
    }

    #[test]
    fn environment_token_wins_over_the_saved_one() {
        let wishes = Wishes { token: Some("sqd_env".into()), ..Wishes::default() };
        assert_eq!(resolve(&wishes, &saved()).unwrap().token.unwrap().bearer(), "Bearer sqd_env");
    }

    #[test]
    fn plain_http_is_for_this_machine_only() {
        assert!(parse_server("http://127.0.0.1:8080").is_ok());
        assert!(parse_server("http://10.0.0.1:8080").is_err());
        assert!(parse_server("https://user:pw@host").is_err());
        assert!(parse_server("host:8443").is_err());
    }

    #[test]
    fn unknown_context_names_the_known_ones() {
        let wishes = Wishes { context: Some("north".into()), ..Wishes::default() };
        let text = resolve(&wishes, &saved()).unwrap_err().to_string();
        assert_eq!(text, "context \"north\" does not exist; there is east, west");
    }
}
