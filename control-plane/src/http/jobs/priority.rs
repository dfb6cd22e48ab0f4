//! Priority of a submission: the class that it names, or a refusal that lists those there are.

use squadron_api::error::Code;
use squadron_core::{
    nearest::nearest,
    quota::PriorityClass,
    sentence::{clip, list},
};
use squadron_ray::manifest::ParsedRayJob;

use crate::{
    http::error::{Api, Result},
    state::AppState,
};

/// Kueue's label; the class stands there for jobs that were written for Kueue.
pub const LABEL: &str = "kueue.x-k8s.io/priority-class";

/// The class that the request names, or else the manifest's label; `None` for the ordinary priority.
pub async fn of(app: &AppState, asked: Option<&str>, parsed: &ParsedRayJob) -> Result<Option<PriorityClass>> {
    let label = parsed.labels.get(LABEL).map(String::as_str);
    let Some(name) = asked.or(label).filter(|name| !name.is_empty()) else { return Ok(None) };
    let classes = app.store.priority_classes().await?;
    match classes.iter().find(|class| class.name == name) {
        Some(class) => Ok(Some(class.clone())),
        None => Err(unknown(name, &classes)),
    }
}

fn unknown(name: &str, classes: &[PriorityClass]) -> Api {
    let names: Vec<String> = classes.iter().map(|class| class.name.clone()).collect();
    let meant = nearest(name, names.iter().map(String::as_str));
    let meant = meant.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    let known = if names.is_empty() { "none".to_owned() } else { list(&names) };
    Api::new(
        Code::UnknownPriorityClass,
        format!(
            "there is no priority class {:?}{meant} (classes, the most urgent first: {known})",
            clip(name, 80)
        ),
        "name one of them, leave it out, or have an administrator declare it: squadron apply -f FILE",
    )
}
