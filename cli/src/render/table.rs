//! Tables: aligned columns, three spaces apart, no lines; the last column may be as long as it likes.

use super::{plain, style::Style};

/// One column's heading and side.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    pub right: bool,
}

/// A column of words.
pub const fn left(title: &'static str) -> Column {
    Column { title, right: false }
}

/// A column of numbers.
pub const fn right(title: &'static str) -> Column {
    Column { title, right: true }
}

/// One cell. Its text has no control characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    pub text: String,
    pub style: Style,
}

impl Cell {
    pub fn styled(text: &str, style: Style) -> Cell {
        Cell { text: plain(text), style }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::styled(text, Style::Normal)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::from(text.as_str())
    }
}

/// Between two columns.
pub const GAP: &str = "   ";

/// Heading and rows, each line ended by a newline, no spaces at line ends.
pub fn table(columns: &[Column], rows: &[Vec<Cell>], colour: bool) -> String {
    let widths: Vec<usize> =
        columns.iter().enumerate().map(|(i, column)| width_of(column, i, rows)).collect();
    let heading: Vec<Cell> = columns.iter().map(|column| Cell::styled(column.title, Style::Strong)).collect();
    std::iter::once(&heading).chain(rows).map(|row| line(columns, &widths, row, colour)).collect()
}

/// Characters of the widest cell, heading included.
pub fn width_of(column: &Column, index: usize, rows: &[Vec<Cell>]) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.text.chars().count());
    cells.chain([column.title.len()]).max().unwrap_or(0)
}

fn line(columns: &[Column], widths: &[usize], row: &[Cell], colour: bool) -> String {
    let mut line = String::new();
    for (index, cell) in row.iter().enumerate() {
        let padding = " ".repeat(widths[index].saturating_sub(cell.text.chars().count()));
        let painted = cell.style.paint(&cell.text, colour);
        let gap = if index == 0 { "" } else { GAP };
        if columns[index].right {
            line.push_str(&format!("{gap}{padding}{painted}"));
        } else if index + 1 == row.len() {
            line.push_str(&format!("{gap}{painted}"));
        } else {
            line.push_str(&format!("{gap}{painted}{padding}"));
        }
    }
    format!("{}\n", line.trim_end())
}

/// RFC 4180: lines end with CRLF, cells with separators or quotes are quoted.
pub fn csv(titles: impl IntoIterator<Item = String>, rows: &[Vec<Cell>]) -> String {
    let heading: Vec<String> = titles.into_iter().collect();
    let body = rows.iter().map(|row| row.iter().map(|cell| cell.text.clone()).collect());
    std::iter::once(heading).chain(body).map(|cells: Vec<String>| csv_line(&cells)).collect()
}

fn csv_line(cells: &[String]) -> String {
    let quoted = |cell: &String| {
        if cell.contains([',', '"', '\r', '\n']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    };
    format!("{}\r\n", cells.iter().map(quoted).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_clean() {
        let rows =
            vec![vec![Cell::from("train"), "1".into(), "x".into()], vec!["a".into(), "12".into(), "".into()]];
        insta::assert_snapshot!(table(&[left("NAME"), right("GPU"), left("REASON")], &rows, false), @"
        NAME    GPU   REASON
        train     1   x
        a        12
        ");
    }

    #[test]
    fn colour_does_not_move_columns() {
        let rows = vec![vec![Cell::styled("up", Style::Good), "1".into()]];
        let painted = table(&[left("STATE"), right("N")], &rows, true);
        assert!(painted.ends_with("\u{1b}[32mup\u{1b}[0m      1\n"), "{painted:?}");
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let rows = vec![vec![Cell::from("say \"hi\", Bob"), "2".into()]];
        assert_eq!(csv(["a".into(), "b".into()], &rows), "a,b\r\n\"say \"\"hi\"\", Bob\",2\r\n");
    }
}
