//! Table: a CSV file with a header, row by row, each value with the place where it stands.
//!
//! Bounded: bytes after decompression, rows, columns, the length of a row and of a field. A quote that never closes therefore
//! ends as a row that is too long, and a gzip bomb as a file that is too large. Every row ends with a newline here: the last one
//! gets one, and a carriage return before it belongs to no value, so lines are counted as an editor counts them.

use std::{
    cell::Cell,
    io::{BufReader, Read},
    rc::Rc,
};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, Terminator};
use flate2::read::MultiGzDecoder;

/// Bytes of a file, after decompression.
pub const MAX_BYTES: u64 = 2 << 30;
const MAX_ROWS: u64 = 5_000_000;
const MAX_COLUMNS: usize = 256;
const MAX_FIELD: usize = 1_024;
/// Bytes that are read for one row at most.
const MAX_ROW: usize = MAX_COLUMNS * (MAX_FIELD + 4);
/// Characters of a value that a refusal repeats.
const SHOWN: usize = 40;

/// Why a file was refused, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Refused {
    /// Name as it was given.
    pub file: String,
    /// From 1; the header is line 1. 0 when it is about the whole file.
    pub line: u64,
    /// Empty when it is about the whole line.
    pub column: String,
    pub reason: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ", line {}", self.line)?;
        }
        if !self.column.is_empty() {
            write!(f, ", column {}", self.column)?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// A file that is being read.
pub(super) struct Table<'a> {
    file: String,
    reader: Reader<Box<dyn Read + 'a>>,
    columns: Vec<String>,
    record: ByteRecord,
    rows: u64,
    /// Where the row begins; counts from 1.
    line: u64,
    /// Bytes that were read since the row before.
    taken: Rc<Cell<usize>>,
}

impl<'a> Table<'a> {
    /// Reads the header. `file` is only used to say where something stands.
    pub(super) fn open(file: &str, source: impl Read + 'a) -> Result<Self, Refused> {
        let whole =
            |reason: String| Refused { file: file.to_owned(), line: 0, column: String::new(), reason };
        let taken = Rc::default();
        let plain = unpacked(source, &taken).map_err(|error| whole(format!("cannot be read: {error}")))?;
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(plain);
        let (file, record) = (file.to_owned(), ByteRecord::new());
        let mut table = Table { file, reader, columns: Vec::new(), record, rows: 0, line: 0, taken };
        if !table.advance()? {
            return Err(whole("the file is empty; its first line must name the columns".to_owned()));
        }
        table.columns = table.header()?;
        Ok(table)
    }

    fn header(&self) -> Result<Vec<String>, Refused> {
        if self.record.len() > MAX_COLUMNS {
            return Err(self.refuse("", format!("more than {MAX_COLUMNS} columns")));
        }
        let mut columns: Vec<String> = Vec::new();
        for field in &self.record {
            let Ok(name) = std::str::from_utf8(field) else {
                return Err(self.refuse("", "the header is not UTF-8; is this a CSV file?".to_owned()));
            };
            let name = name.trim().to_owned();
            if !name.is_empty() && columns.contains(&name) {
                return Err(self.refuse(&name, "the column stands twice in the header".to_owned()));
            }
            columns.push(name);
        }
        Ok(columns)
    }

    /// Where a column stands.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|known| known == name)
    }

    /// Where a column stands that must be there.
    pub(super) fn required(&self, name: &str) -> Result<usize, Refused> {
        self.column(name).ok_or_else(|| Refused {
            line: 1,
            ..self.refuse(name, "the column is missing from the header".to_owned())
        })
    }

    /// Goes on to the next row; false at the end. Blank lines are passed over.
    pub(super) fn advance(&mut self) -> Result<bool, Refused> {
        loop {
            self.taken.set(0);
            let more = self.reader.read_byte_record(&mut self.record).map_err(|error| self.damage(&error))?;
            if !more {
                return Ok(false);
            }
            if self.record.len() > 1 || !matches!(self.record.as_slice(), b"" | b"\r") {
                break;
            }
        }
        // Blank lines before it count; behind a row of one line the reader stands at the next.
        let is_one_line = !self.record.as_slice().contains(&b'\n');
        let stood = self.record.position().map_or(0, csv::Position::line);
        self.line = if is_one_line { self.reader.position().line() - 1 } else { stood };
        self.rows += 1;
        if self.rows > MAX_ROWS {
            return Err(self.refuse("", format!("more than {MAX_ROWS} rows")));
        }
        if !self.columns.is_empty() && self.record.len() != self.columns.len() {
            let reason =
                format!("{} fields where the header names {}", self.record.len(), self.columns.len());
            return Err(self.refuse("", reason));
        }
        if let Some(index) = self.record.iter().position(|field| field.len() > MAX_FIELD) {
            let name = self.columns.get(index).cloned().unwrap_or_default();
            return Err(self.refuse(&name, format!("the field is longer than {MAX_FIELD} bytes")));
        }
        Ok(true)
    }

    /// The value of a column in this row, without blanks around it. Empty means unknown.
    pub(super) fn text(&self, column: usize) -> Result<&str, Refused> {
        let bytes = self.record.get(column).unwrap_or_default();
        let is_last = column + 1 == self.record.len();
        let bytes = bytes.strip_suffix(b"\r").filter(|_| is_last).unwrap_or(bytes);
        let text = std::str::from_utf8(bytes)
            .map_err(|_| self.refuse_at(column, "the value is not UTF-8".to_owned()))?;
        if text.chars().any(char::is_control) {
            return Err(self.refuse_at(column, "the value holds a control character".to_owned()));
        }
        Ok(text.trim())
    }

    /// The value of a column that must not be empty.
    pub(super) fn filled(&self, column: usize) -> Result<&str, Refused> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Err(self.refuse_at(column, "the value is missing".to_owned()));
        }
        Ok(text)
    }

    /// A whole number in `range`; a fraction of zeros, as some tools write it, is fine.
    pub(super) fn whole(&self, column: usize, range: std::ops::RangeInclusive<u64>) -> Result<u64, Refused> {
        let text = self.filled(column)?;
        let millis = thousandths(text).map_err(|why| self.refuse_value(column, text, why))?;
        let fraction = millis % 1_000 != 0;
        let number = millis / 1_000;
        if fraction {
            return Err(self.refuse_value(column, text, "it is not a whole number"));
        }
        if !range.contains(&number) {
            let why = format!("it must be from {} to {}", range.start(), range.end());
            return Err(self.refuse_value(column, text, &why));
        }
        Ok(number)
    }

    /// Seconds, at most `limit` of them, as milliseconds; None when the field is empty.
    pub(super) fn millis(&self, column: usize, limit: u64) -> Result<Option<u64>, Refused> {
        let text = self.text(column)?;
        if text.is_empty() {
            return Ok(None);
        }
        let millis = thousandths(text).map_err(|why| self.refuse_value(column, text, why))?;
        if millis > limit.saturating_mul(1_000) {
            return Err(self.refuse_value(column, text, &format!("it must be at most {limit} seconds")));
        }
        Ok(Some(millis))
    }

    /// A refusal of a value in this row.
    pub(super) fn refuse_value(&self, column: usize, value: &str, why: &str) -> Refused {
        let shown: String = value.chars().take(SHOWN).collect();
        let dots = if value.chars().count() > SHOWN { "…" } else { "" };
        self.refuse_at(column, format!("{shown:?}{dots}: {why}"))
    }

    fn refuse_at(&self, column: usize, reason: String) -> Refused {
        self.refuse(self.columns.get(column).map_or("", String::as_str), reason)
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    fn refuse(&self, column: &str, reason: String) -> Refused {
        Refused { file: self.file.clone(), line: self.line(), column: column.to_owned(), reason }
    }

    fn damage(&self, error: &csv::Error) -> Refused {
        let line = self.reader.position().line();
        let reason = match error.kind() {
            ErrorKind::Io(io) => format!("cannot be read on: {io}"),
            _ => format!("is damaged: {error}"),
        };
        Refused { file: self.file.clone(), line, column: String::new(), reason }
    }
}

/// The text of a file that may be gzipped, no longer than the limit.
fn unpacked<'a>(mut source: impl Read + 'a, taken: &Rc<Cell<usize>>) -> std::io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::with_capacity(3);
    source.by_ref().take(3).read_to_end(&mut start)?;
    let gzipped = start.starts_with(&[0x1f, 0x8b]);
    if start == "\u{feff}".as_bytes() {
        start.clear();
    }
    let joined = BufReader::new(std::io::Cursor::new(start).chain(source));
    let plain: Box<dyn Read + 'a> =
        if gzipped { Box::new(MultiGzDecoder::new(joined)) } else { Box::new(joined) };
    let bounded = Bounded { inner: plain, left: MAX_BYTES, taken: taken.clone() };
    Ok(Box::new(bounded.chain(&b"\n"[..])))
}

/// Fails, instead of ending quietly, where a file or a row goes on past its limit.
struct Bounded<R> {
    inner: R,
    left: u64,
    taken: Rc<Cell<usize>>,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| std::io::Error::other(format!("it is larger than {MAX_BYTES} bytes")))?;
        self.taken.set(self.taken.get() + count);
        if self.taken.get() > MAX_ROW {
            return Err(std::io::Error::other(format!(
                "a row is longer than {MAX_ROW} bytes; is a quote left open?"
            )));
        }
        Ok(count)
    }
}

/// A decimal without sign and exponent, in thousandths; further digits are cut off.
fn thousandths(text: &str) -> Result<u64, &'static str> {
    const NO_NUMBER: &str = "it is not a plain decimal number of 0 or more";
    const TOO_LARGE: &str = "the number is too large";
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(NO_NUMBER);
    }
    let whole: u64 = whole.parse().map_err(|_| TOO_LARGE)?;
    let fraction = fraction.bytes().chain(*b"000").take(3);
    let part = fraction.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
    whole.checked_mul(1_000).and_then(|millis| millis.checked_add(part)).ok_or(TOO_LARGE)
}
