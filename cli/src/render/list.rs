//! Lists in every format: the same rows as table, wide table, CSV, names, or the API's own objects.

use clap::ValueEnum;
use serde::Serialize;
use squadron_api::Page;

use super::{
    View,
    narrow::fitted,
    table::{Cell, Column, csv, table},
};

/// Formats of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ListFormat {
    /// Columns for a person, ages relative
    #[default]
    Table,
    /// More columns, times absolute
    Wide,
    /// The API's answer: items, as_of, partial
    Json,
    /// One API object a line
    Jsonl,
    /// The API's answer as YAML
    Yaml,
    /// One a line, as commands take it: ids of jobs, incidents and tokens, names of the others
    Name,
    /// Bare values as RFC 4180
    Csv,
}

/// Formats of one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ItemFormat {
    /// Sentences and tables for a person
    #[default]
    Text,
    /// The API object
    Json,
    /// The API object as YAML
    Yaml,
}

/// A noun that can stand in a list.
pub trait Row: Serialize {
    fn columns(wide: bool) -> &'static [Column];
    fn cells(&self, wide: bool, view: View) -> Vec<Cell>;
    /// The same as titles and bare values for programs: no units, no dashes, times absolute.
    fn record(&self) -> Vec<(&'static str, String)>;
    /// What commands take to mean exactly this one.
    fn name(&self) -> String;
}

/// The page in a format. An empty page is an empty table without heading.
pub fn list<T: Row>(page: &Page<T>, format: ListFormat, view: View) -> String {
    let rows = |wide| page.items.iter().map(|item| item.cells(wide, view)).collect::<Vec<_>>();
    match format {
        ListFormat::Table | ListFormat::Wide if page.items.is_empty() => String::new(),
        ListFormat::Table => fitted(T::columns(false), &rows(false), view),
        ListFormat::Wide => table(T::columns(true), &rows(true), view.colour),
        ListFormat::Csv => records(&page.items),
        ListFormat::Name => {
            page.items.iter().map(|item| format!("{}\n", super::plain(&item.name()))).collect()
        }
        ListFormat::Json => json(page),
        ListFormat::Yaml => yaml(page),
        ListFormat::Jsonl => page.items.iter().map(json_line).collect(),
    }
}

/// An empty list is an empty text: no row names the columns.
fn records<T: Row>(items: &[T]) -> String {
    let records: Vec<_> = items.iter().map(Row::record).collect();
    let Some(first) = records.first() else { return String::new() };
    let titles = first.iter().map(|(title, _)| (*title).to_owned()).collect::<Vec<_>>();
    let rows: Vec<Vec<Cell>> = records
        .into_iter()
        .map(|record| record.into_iter().map(|(_, value)| value.into()).collect())
        .collect();
    csv(titles, &rows)
}

/// One object in a format; `text` is made only when asked for.
pub fn item<T: Serialize>(value: &T, format: ItemFormat, text: impl FnOnce() -> String) -> String {
    match format {
        ItemFormat::Text => text(),
        ItemFormat::Json => json(value),
        ItemFormat::Yaml => yaml(value),
    }
}

/// Indented JSON with a newline. The API's types hold nothing that JSON cannot.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).map_or_else(|error| format!("# {error}\n"), |text| text + "\n")
}

fn json_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).map_or_else(|error| format!("# {error}\n"), |text| text + "\n")
}

fn yaml(value: &impl Serialize) -> String {
    serde_yaml_ng::to_string(value).unwrap_or_else(|error| format!("# {error}\n"))
}
