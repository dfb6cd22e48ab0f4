//! Labels of a cluster: what an operator says about where it is and what is near it.

use axum::{
    Json,
    extract::{Path, State},
};
use squadron_api::{
    cluster::{Cluster as Shown, LabelClusterRequest},
    error::Code,
    route,
};
use squadron_core::{
    preference::{is_key, is_value},
    sentence::clip,
};
use squadron_store::cluster::label::{Labelled, MOST_LABELS};

use super::{find, missing, shown};
use crate::{
    http::{
        auth::Caller,
        error::{Api, Result},
        fields::Fields,
    },
    state::AppState,
    wake::Topic,
};

/// Sets and removes labels; those that are not named stay.
#[utoipa::path(post, path = route::CLUSTER_LABELS, tag = "clusters", params(("cluster" = String, Path)),
    request_body = LabelClusterRequest, responses((status = 200, body = Shown)))]
pub async fn label(
    State(app): State<AppState>,
    caller: Caller,
    Path(cluster): Path<String>,
    Fields(request): Fields<LabelClusterRequest>,
) -> Result<Json<Shown>> {
    for (key, value) in &request.labels {
        if !is_key(key) || value.as_deref().is_some_and(|value| !is_value(value)) {
            return Err(illegal(key, value.as_deref()));
        }
    }
    let row = find(&app, &cluster).await?;
    let said: Vec<String> = request.labels.iter().map(|(key, value)| said(key, value.as_deref())).collect();
    let entry = caller.entry("cluster.label", &row.name, clip(&said.join(" "), 1_000));
    match app.store.label_cluster(row.id, &request.labels, &entry).await? {
        Labelled::Done(row) => {
            app.wake.notify(Topic::Dispatch);
            app.wake.changed("cluster", row.id, row.version);
            shown(&app, *row).await
        }
        Labelled::TooMany(number) => Err(Api::new(
            Code::BadRequest,
            format!("{} would have {number} labels; a cluster may have {MOST_LABELS}", row.name),
            "remove some in the same request, written as KEY-",
        )),
        Labelled::Missing => Err(missing(&cluster)),
    }
}

fn said(key: &str, value: Option<&str>) -> String {
    value.map_or_else(|| format!("{key}-"), |value| format!("{key}={value}"))
}

fn illegal(key: &str, value: Option<&str>) -> Api {
    let shown = clip(&said(key, value), 200);
    Api::new(
        Code::BadRequest,
        format!(
            "{shown:?} is no label: letters, digits, '-', '_' and '.', at most 63 characters each, with a letter or digit at both ends"
        ),
        "write for example region=eu-west-1 or data/imagenet=near",
    )
}
