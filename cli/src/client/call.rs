//! Calls: one HTTP request as a value, so that it can be sent again.

use std::time::Duration;

use reqwest::Method;

use super::retry::Repeat;

/// How long reading commands go on when the server cannot be reached.
const READ_PATIENCE: Duration = Duration::from_secs(5);
/// How long changing commands go on: a control plane restarts within this time.
const WRITE_PATIENCE: Duration = Duration::from_secs(45);

/// A request before it is sent.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    /// Segments below the server's root, each still unescaped.
    pub path: Vec<String>,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<(&'static str, String)>,
    pub repeat: Repeat,
    pub patience: Duration,
    /// `None` for a stream without end.
    pub timeout: Option<Duration>,
}

impl Call {
    /// `route` is a path of [`squadron_api::route`]; the `{…}` in it is replaced by `name`.
    pub fn get(route: &str, name: &str) -> Call {
        Call::new(Method::GET, route, name, READ_PATIENCE)
    }

    /// A change that is harmless to repeat.
    pub fn change(method: Method, route: &str, name: &str) -> Call {
        Call::new(method, route, name, WRITE_PATIENCE)
    }

    fn new(method: Method, route: &str, name: &str, patience: Duration) -> Call {
        let fill =
            |segment: &str| if segment.starts_with('{') { name.to_owned() } else { segment.to_owned() };
        Call {
            method,
            path: route.split('/').filter(|segment| !segment.is_empty()).map(fill).collect(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            repeat: Repeat::Harmless,
            patience,
            timeout: Some(Duration::from_secs(30)),
        }
    }

    /// Adds a query parameter when there is a value.
    pub fn query(mut self, key: &str, value: Option<impl ToString>) -> Call {
        self.query.extend(value.map(|value| (key.to_owned(), value.to_string())));
        self
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.headers.push((name, value.into()));
        self
    }

    pub fn body(mut self, content_type: &'static str, body: String) -> Call {
        self.body = Some((content_type, body));
        self
    }

    /// A second copy would do a second thing: repeat only what never left.
    pub fn once(mut self) -> Call {
        self.repeat = Repeat::OnlyIfNeverSent;
        self
    }

    /// Fails at the first trouble.
    pub fn impatient(mut self) -> Call {
        self.patience = Duration::ZERO;
        self
    }

    /// The answer is a stream that may stay open for days.
    pub fn endless(mut self) -> Call {
        self.timeout = None;
        self
    }

    /// The full address. Segments are escaped, so that no name can leave its place in the path.
    pub fn url(&self, server: &reqwest::Url) -> reqwest::Url {
        let mut url = server.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::Call;

    #[test]
    fn name_cannot_leave_its_place_in_the_path() {
        let server = "https://localhost:8443/".parse().unwrap();
        let call = Call::get("/api/v1/jobs/{job}/why", "../../x?y#z")
            .query("limit", Some(5))
            .query("queue", None::<u8>);
        assert_eq!(
            call.url(&server).as_str(),
            "https://localhost:8443/api/v1/jobs/..%2F..%2Fx%3Fy%23z/why?limit=5"
        );
    }
}
