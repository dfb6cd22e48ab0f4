//! Narrow: tables on a terminal that is too narrow for them.
//!
//! Invariant: no line is wider than the terminal and no column is missing. Words in the widest columns are shortened with a
//! mark as far as they stay readable; names and ids, which commands take, are not. Where that is not enough, every row
//! becomes a few lines of its own. Text that goes to a pipe is never touched.

use super::{
    View,
    fit::wrapped,
    style::Style,
    table::{Cell, Column, GAP, table, width_of},
};

/// Characters that a shortened word keeps.
const LEAST: usize = 8;
/// Characters that a sentence at the end of a line keeps, when it is worth showing there.
const LEAST_SENTENCE: usize = 20;
/// Below this nothing can be laid out.
const NARROWEST: usize = 40;
/// Titles of columns that hold what commands take, besides the first one.
const TAKEN: [&str; 5] = ["ID", "NAME", "OBJECT", "QUEUE", "CLUSTER"];

/// The table in the width of the terminal.
pub fn fitted(columns: &[Column], rows: &[Vec<Cell>], view: View) -> String {
    let Some(width) = view.width.filter(|width| *width >= NARROWEST) else {
        return table(columns, rows, view.colour);
    };
    match widths(columns, rows, width) {
        Some(widths) => table(columns, &shortened(rows, &widths), view.colour),
        None => {
            let text: String = rows.iter().map(|row| block(columns, row, view.colour)).collect();
            wrapped(&text, Some(width))
        }
    }
}

/// What each column may take; nothing when they cannot stand side by side.
fn widths(columns: &[Column], rows: &[Vec<Cell>], width: usize) -> Option<Vec<usize>> {
    let mut widths: Vec<usize> =
        columns.iter().enumerate().map(|(at, column)| width_of(column, at, rows)).collect();
    let floors: Vec<usize> =
        columns.iter().enumerate().map(|(at, column)| floor(columns, column, at, widths[at])).collect();
    let room = width.checked_sub(GAP.len() * columns.len().saturating_sub(1))?;
    let mut over = widths.iter().sum::<usize>().saturating_sub(room);
    while over > 0 {
        let spare = |at: &usize| widths[*at] > floors[*at];
        let widest = (0..columns.len()).filter(spare).max_by_key(|at| widths[*at])?;
        widths[widest] -= 1;
        over -= 1;
    }
    Some(widths)
}

/// The least of a column that still tells something.
fn floor(columns: &[Column], column: &Column, at: usize, natural: usize) -> usize {
    let least = if at + 1 == columns.len() { LEAST_SENTENCE } else { LEAST };
    match at == 0 || column.right || TAKEN.contains(&column.title) {
        true => natural,
        false => natural.min(least.max(column.title.len())),
    }
}

fn shortened(rows: &[Vec<Cell>], widths: &[usize]) -> Vec<Vec<Cell>> {
    let short = |(cell, width): (&Cell, &usize)| match cell.text.chars().count() > *width {
        true => {
            let kept: String = cell.text.chars().take(width.saturating_sub(1)).collect();
            Cell { text: format!("{}…", kept.trim_end()), style: cell.style }
        }
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().zip(widths).map(short).collect()).collect()
}

/// The first cell on a line, then what the others say, each behind the title of its column.
fn block(columns: &[Column], row: &[Cell], colour: bool) -> String {
    let Some((first, rest)) = row.split_first() else { return String::new() };
    let told =
        rest.iter().zip(columns.iter().skip(1)).filter(|(cell, _)| !matches!(cell.text.as_str(), "" | "-"));
    let parts: Vec<String> = told
        .map(|(cell, column)| {
            format!("{} {}", column.title.to_lowercase(), cell.style.paint(&cell.text, colour))
        })
        .collect();
    format!("{}\n  {}\n", Style::Strong.paint(&first.text, colour), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use squadron_core::time::Timestamp;

    use super::{
        super::table::{left, right},
        *,
    };

    fn view(width: usize) -> View {
        View { now: Timestamp(0), colour: false, width: Some(width) }
    }

    fn row(cells: [&str; 5]) -> Vec<Cell> {
        cells.into_iter().map(Cell::from).collect()
    }

    const COLUMNS: [Column; 5] = [left("NAME"), left("QUEUE"), right("GPU"), left("ID"), left("WHY")];

    fn rows() -> Vec<Vec<Cell>> {
        vec![
            row([
                "train-resnet",
                "acme/vision/training",
                "8",
                "0193a5a0",
                "east is full: no node has 8 GPUs left",
            ]),
            row(["tune", "default", "-", "0193a5a1", "quota"]),
        ]
    }

    #[test]
    fn the_widest_words_are_shortened_and_every_column_stays() {
        insta::assert_snapshot!(fitted(&COLUMNS, &rows(), view(80)), @"
        NAME           QUEUE                  GPU   ID         WHY
        train-resnet   acme/vision/training     8   0193a5a0   east is full: no node ha…
        tune           default                  -   0193a5a1   quota
        ");
    }

    #[test]
    fn where_columns_cannot_stand_side_by_side_rows_become_lines() {
        let text = fitted(&COLUMNS, &rows(), view(50));
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        insta::assert_snapshot!(text, @"
        train-resnet
          queue acme/vision/training, gpu 8, id 0193a5a0,
          why east is full: no node has 8 GPUs left
        tune
          queue default, id 0193a5a1, why quota
        ");
    }

    #[test]
    fn what_commands_take_is_whole_at_every_width() {
        for width in NARROWEST..120 {
            let text = fitted(&COLUMNS, &rows(), view(width));
            for name in ["train-resnet", "acme/vision/training", "0193a5a0"] {
                assert!(text.contains(name), "{width}: {text}");
            }
        }
        assert!(
            fitted(&COLUMNS, &rows(), view(75)).starts_with("NAME"),
            "there is room for the least of a sentence"
        );
        assert!(fitted(&COLUMNS, &rows(), view(74)).starts_with("train-resnet"));
    }

    #[test]
    fn a_pipe_and_a_wide_terminal_get_the_whole_table() {
        let whole = table(&COLUMNS, &rows(), false);
        assert_eq!(fitted(&COLUMNS, &rows(), View { width: None, ..view(0) }), whole);
        assert_eq!(fitted(&COLUMNS, &rows(), view(200)), whole);
    }
}
