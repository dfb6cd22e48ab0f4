//! Texts of policy: files, folders and stdin become one text for the server, and its lines lead back to the files.
//!
//! Invariant: what is sent was read whole and is legal by the code that the server runs; every problem, ours or the
//! server's, is told with the file that its line stands in.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use squadron_api::error::{FieldProblem, Problem};
use squadron_core::quota::{
    declared::{Declared, Place, Problem as TextProblem, WHOLE},
    yaml::{self, LONGEST},
};

use crate::{failure::Failure, render::count};

/// Files of one folder at most.
const MOST_FILES: usize = 1_000;

/// One text made of all that was named, and what it declares.
#[derive(Debug)]
pub struct Texts {
    pub text: String,
    pub declared: Declared,
    parts: Parts,
}

/// Where each file begins in the text; never empty.
#[derive(Debug, Default)]
struct Parts(Vec<Part>);

#[derive(Debug)]
struct Part {
    name: String,
    /// Lines, and documents, of the text before it.
    lines: u32,
    documents: u32,
}

impl Texts {
    /// Reads `paths`: files, folders with YAML files, or `-` for stdin.
    pub fn read(paths: &[String]) -> Result<Texts, Failure> {
        let mut sources = Vec::new();
        for path in paths {
            sources.extend(read_path(path)?);
        }
        join(sources).map_err(|problems| {
            let number = count(problems.len(), "problem");
            Failure::usage(format!("this is no valid policy ({number}); nothing was sent"))
                .fields(problems)
                .next("correct the lines above and apply it again; docs/guide/queues.md shows the format")
        })
    }

    /// The server's refusal with files instead of lines of the joined text.
    pub fn in_files(&self, mut problem: Problem) -> Problem {
        for field in &mut problem.fields {
            let found = self.parts.in_file(&field.path);
            problem.detail = problem.detail.replacen(&field.path, &found, 1);
            field.path = found;
            field.problem = self.parts.in_sentence(&field.problem);
        }
        problem
    }

    /// One of our own problems, with its file.
    pub fn field(&self, problem: &TextProblem) -> FieldProblem {
        self.parts.field(problem)
    }
}

/// Each text is read by itself first, so that one that does not end cannot spoil the next.
fn join(sources: Vec<(String, String)>) -> Result<Texts, Vec<FieldProblem>> {
    let (mut parts, mut text, mut documents, mut problems) = (Parts::default(), String::new(), 0, Vec::new());
    for (name, source) in sources {
        let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        match yaml::read(&source) {
            Ok(declared) => {
                parts.0.push(Part { name, lines, documents });
                documents += declared.documents;
            }
            Err(found) => {
                let alone = Parts(vec![Part { name, lines: 0, documents: 0 }]);
                problems.extend(found.iter().map(|problem| alone.field(problem)));
            }
        }
        text.push_str(source.trim_start_matches('\u{feff}').trim_end());
        text.push_str("\n...\n");
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    match yaml::read(&text) {
        Ok(declared) => Ok(Texts { text, declared, parts }),
        Err(found) => Err(found.iter().map(|problem| parts.field(problem)).collect()),
    }
}

impl Parts {
    fn field(&self, problem: &TextProblem) -> FieldProblem {
        FieldProblem { path: self.in_file(&problem.at()), problem: self.in_sentence(&problem.problem) }
    }

    /// A sentence that ends by naming another place: `… already, in line 3 (document 1)`.
    fn in_sentence(&self, sentence: &str) -> String {
        let found = sentence.find(", in line ").map(|at| sentence.split_at(at + ", in ".len()));
        match found.filter(|(_, place)| Place::read(place).is_some()) {
            Some((before, place)) => format!("{before}{}", self.in_file(place)),
            None => sentence.to_owned(),
        }
    }

    /// `line 15 (document 3): queue a` as `b.yaml:4 (document 1): queue a`; other paths stay.
    fn in_file(&self, path: &str) -> String {
        let Some((place, rest)) = Place::read(path) else {
            let only = self.0.first().filter(|_| path == WHOLE && self.0.len() == 1);
            return only.map_or(path, |part| part.name.as_str()).to_owned();
        };
        let Some(part) = self.0.iter().rev().find(|part| part.lines < place.line) else {
            return path.to_owned();
        };
        let (line, document) =
            (place.line - part.lines, place.document.saturating_sub(part.documents).max(1));
        format!("{}:{line} (document {document}){rest}", part.name)
    }
}

/// The files that a path names, each with its text.
fn read_path(path: &str) -> Result<Vec<(String, String)>, Failure> {
    if path == "-" {
        return Ok(vec![("stdin".to_owned(), text_of("stdin", io::stdin().lock())?)]);
    }
    if !Path::new(path).is_dir() {
        return read_file(path).map(|text| vec![(path.to_owned(), text)]);
    }
    let files = files_in(path)?;
    if files.is_empty() {
        return Err(Failure::usage(format!("{path} has no file that ends in .yaml, .yml or .json")));
    }
    files.into_iter().map(|file| Ok((file.clone(), read_file(&file)?))).collect()
}

/// Files of a folder that are YAML by their name, in the order of their names; not those of folders in it. With `--prune` a file
/// that were left out would remove what it declares, so one that cannot be looked at is refused, and so are too many.
fn files_in(folder: &str) -> Result<Vec<String>, Failure> {
    let unread = |error: io::Error| Failure::usage(format!("cannot read {folder}")).because(error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if !is_yaml(&path) || path.is_dir() {
            continue;
        }
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Failure::usage(format!("{} is no file; nothing was sent", path.display())));
        }
        files.push(path.display().to_string());
        if files.len() > MOST_FILES {
            let problem = format!("{folder} has more than {MOST_FILES} files; nothing was sent");
            return Err(
                Failure::usage(problem).next("put several things into one file, or apply some of the files")
            );
        }
    }
    files.sort();
    Ok(files)
}

fn is_yaml(path: &Path) -> bool {
    let end = path.extension().unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|yaml| end.eq_ignore_ascii_case(yaml))
}

fn read_file(path: &str) -> Result<String, Failure> {
    let unread = |error: io::Error| {
        Failure::usage(format!("cannot read {path}"))
            .because(error)
            .next("give a file, a folder with YAML files, or - for stdin")
    };
    text_of(path, File::open(path).map_err(unread)?)
}

fn text_of(name: &str, input: impl Read) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = LONGEST as u64;
    input
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("cannot read {name}")).because(error))?;
    if bytes.len() > LONGEST {
        let problem = format!("{name} is longer than {} KiB; nothing was sent", most / 1024);
        return Err(Failure::usage(problem).next("apply it in parts"));
    }
    String::from_utf8(bytes).map_err(|bad| {
        let before = &bad.as_bytes()[..bad.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Failure::usage(format!("{name}:{line}: the text is no UTF-8; nothing was sent"))
            .next("save it as UTF-8, and see that it is a text")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn queue(name: &str) -> String {
        format!("apiVersion: squadron.dev/v1\nkind: Queue\nmetadata: {{name: {name}}}\n")
    }

    fn paths(problems: &[FieldProblem]) -> Vec<&str> {
        problems.iter().map(|problem| problem.path.as_str()).collect()
    }

    #[test]
    fn lines_of_the_joined_text_lead_back_to_their_files() {
        let first = format!("# ours\n{}---\n{}", queue("a"), queue("b"));
        let second = format!("\u{feff}---\n{}", queue("c"));
        let texts = join(vec![("a.yaml".into(), first), ("dir/b.yaml".into(), second)]).unwrap();
        assert_eq!(texts.declared.policy.queues.len(), 3);
        let line = texts.text.lines().position(|line| line.contains("{name: c}")).unwrap() + 1;
        let refused = Problem {
            code: "SQD-1302".into(),
            status: 422,
            detail: format!("the policy is refused: line {line} (document 3): queue c: bad"),
            next_step: String::new(),
            request_id: String::new(),
            fields: vec![
                FieldProblem { path: format!("line {line} (document 3): queue c"), problem: "bad".into() },
                FieldProblem { path: "line 3 (document 1)".into(), problem: "bad".into() },
                FieldProblem { path: "queue old".into(), problem: "bad".into() },
            ],
        };
        let told = texts.in_files(refused);
        assert_eq!(
            paths(&told.fields),
            ["dir/b.yaml:4 (document 1): queue c", "a.yaml:3 (document 1)", "queue old"]
        );
        assert_eq!(told.detail, "the policy is refused: dir/b.yaml:4 (document 1): queue c: bad");
    }

    /// A folder with these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    fn read(folder: &tempfile::TempDir) -> Result<usize, String> {
        let path = folder.path().display().to_string();
        Texts::read(&[path])
            .map(|texts| texts.declared.policy.queues.len())
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn every_yaml_file_of_a_folder_is_read_or_none() {
        let (a, b) = (queue("a"), queue("b"));
        let two = folder(&[("a.yaml", &a), ("b.YML", &b), ("README.md", "no yaml: [")]);
        fs::create_dir(two.path().join("old.yaml")).unwrap();
        assert_eq!(read(&two), Ok(2));
        std::os::unix::fs::symlink("nowhere", two.path().join("c.yaml")).unwrap();
        assert!(read(&two).unwrap_err().contains("c.yaml"), "with --prune what it declares would go");
    }

    #[test]
    fn too_many_files_are_refused_and_others_do_not_count() {
        let many = folder(&[]);
        for number in 0..MOST_FILES {
            fs::write(many.path().join(format!("q{number}.yaml")), queue(&format!("q{number}"))).unwrap();
            fs::write(many.path().join(format!("q{number}.md")), "").unwrap();
        }
        assert_eq!(read(&many), Ok(MOST_FILES));
        fs::write(many.path().join("more.yaml"), queue("more")).unwrap();
        assert!(read(&many).unwrap_err().contains("more than 1000 files"));
    }

    #[test]
    fn a_text_that_is_no_utf_8_is_told_with_its_line_and_one_that_is_too_long_with_its_length() {
        let told = |bytes: &[u8]| format!("{:?}", text_of("a.yaml", bytes).unwrap_err());
        assert!(told(b"a: 1\nb: \xff\n").contains("a.yaml:2: the text is no UTF-8"));
        assert!(told("\u{20ac}".repeat(600_000).as_bytes()).contains("longer than 1024 KiB"));
    }

    #[test]
    fn problems_name_the_file_that_they_stand_in() {
        let texts = |second: &str| {
            join(vec![("a.yaml".into(), queue("a")), ("b.yaml".into(), second.to_owned())]).unwrap_err()
        };
        assert_eq!(paths(&texts("a: [\n")), ["b.yaml:1 (document 1)"]);
        let twice = texts(&format!("\n{}", queue("a")));
        assert_eq!(paths(&twice), ["b.yaml:4 (document 1): Queue a, metadata.name"]);
        assert!(twice[0].problem.ends_with("already, in a.yaml:3 (document 1)"), "{twice:?}");
    }
}
