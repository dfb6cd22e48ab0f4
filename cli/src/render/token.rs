//! Tokens in lists; never their secrets.

use squadron_api::token::Token;

use super::{
    View,
    list::Row,
    table::{Cell, Column, left},
    time::{absolute, absolute_or_dash, absolute_or_nothing, age},
};

const COLUMNS: &[Column] =
    &[left("ID"), left("SUBJECT"), left("ROLE"), left("CREATED"), left("EXPIRES"), left("LAST USED")];

impl Row for Token {
    fn columns(_wide: bool) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, wide: bool, view: View) -> Vec<Cell> {
        let used = match (wide, self.last_used_at) {
            (false, Some(at)) => format!("{} ago", age(at, view.now)),
            (_, at) => absolute_or_dash(at),
        };
        vec![
            self.id.as_str().into(),
            self.subject.as_str().into(),
            self.role.as_str().into(),
            absolute(self.created_at).into(),
            self.expires_at.map_or_else(|| "never".into(), absolute).into(),
            used.into(),
        ]
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.clone()),
            ("subject", self.subject.clone()),
            ("role", self.role.clone()),
            ("created_at", absolute(self.created_at)),
            ("expires_at", absolute_or_nothing(self.expires_at)),
            ("last_used_at", absolute_or_nothing(self.last_used_at)),
        ]
    }

    fn name(&self) -> String {
        self.id.clone()
    }
}
