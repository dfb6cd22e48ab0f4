//! Audit rows in lists.

use squadron_api::audit::AuditEntry;

use super::{
    View,
    list::Row,
    or_dash,
    style::Style,
    table::{Cell, Column, left},
    time::absolute,
};

const TABLE: &[Column] =
    &[left("AT"), left("ACTOR"), left("ACTION"), left("OBJECT"), left("ALLOWED"), left("DETAIL")];
const WIDE: &[Column] = &[
    left("AT"),
    left("ACTOR"),
    left("ACTION"),
    left("OBJECT"),
    left("ALLOWED"),
    left("REQUEST"),
    left("DETAIL"),
];

impl Row for AuditEntry {
    fn columns(wide: bool) -> &'static [Column] {
        if wide { WIDE } else { TABLE }
    }

    fn cells(&self, wide: bool, _view: View) -> Vec<Cell> {
        let allowed = if self.allowed { "yes".into() } else { Cell::styled("refused", Style::Bad) };
        let mut cells = vec![
            absolute(self.at).into(),
            self.actor.as_str().into(),
            self.action.as_str().into(),
            or_dash(&self.object).into(),
            allowed,
        ];
        cells.extend(wide.then(|| or_dash(&self.request_id).into()));
        cells.push(self.detail.as_str().into());
        cells
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.clone()),
            ("at", absolute(self.at)),
            ("actor", self.actor.clone()),
            ("action", self.action.clone()),
            ("object", self.object.clone()),
            ("allowed", self.allowed.to_string()),
            ("request_id", self.request_id.clone()),
            ("detail", self.detail.clone()),
        ]
    }

    fn name(&self) -> String {
        self.id.clone()
    }
}
