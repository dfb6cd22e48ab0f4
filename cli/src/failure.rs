//! Failure: what a person reads when a command did not work.
//!
//! Invariant: one line says what, one line says what to do next, one line names the code and the request. Printed to
//! stderr by `main` alone.

use std::{error::Error, fmt};

use squadron_api::error::{FieldProblem, Problem};

use crate::{exit::Exit, render::plain};

/// Why a command ends without success.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    what: String,
    fields: Vec<FieldProblem>,
    next: String,
    reference: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    quiet: bool,
}

impl Failure {
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Failure {
            exit,
            what: what.into(),
            fields: Vec::new(),
            next: String::new(),
            reference: String::new(),
            source: None,
            quiet: false,
        }
    }

    /// The command line itself is wrong in a way that clap cannot see.
    pub fn usage(what: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, what)
    }

    /// Says what to do about it.
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next = step.into();
        self
    }

    pub fn fields(mut self, fields: Vec<FieldProblem>) -> Self {
        self.fields = fields;
        self
    }

    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The reader of stdout went away: nothing is wrong and nobody is told.
    pub fn closed_pipe() -> Self {
        Failure { quiet: true, ..Failure::new(Exit::Ok, "the reader closed the pipe") }
    }

    /// The lines for stderr, each ended by a newline; empty when there is nothing to say.
    pub fn lines(&self) -> String {
        if self.quiet {
            return String::new();
        }
        let mut text = format!("error: {}\n", plain(&self.what));
        for field in &self.fields {
            let path = if field.path.is_empty() { "manifest" } else { &field.path };
            text.push_str(&format!("  {}: {}\n", plain(path), plain(&field.problem)));
        }
        if let Some(why) = self.root_cause() {
            text.push_str(&format!("  why:  {}\n", plain(&why)));
        }
        if !self.next.is_empty() {
            text.push_str(&format!("  next: {}\n", plain(&self.next)));
        }
        if !self.reference.is_empty() {
            text.push_str(&format!("  {}\n", plain(&self.reference)));
        }
        text
    }

    /// The innermost cause: what happened, without the layers that carried it.
    fn root_cause(&self) -> Option<String> {
        let mut cause: &(dyn Error + 'static) = self.source.as_deref()?;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Some(cause.to_string()).filter(|text| !self.what.contains(text.as_str()))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let request = match problem.request_id.as_str() {
            "" => String::new(),
            id => format!(", request {id}"),
        };
        let told = |field: &FieldProblem| problem.detail.contains(&field.problem);
        let fields = if problem.fields.len() == 1 && problem.fields.iter().all(told) {
            Vec::new()
        } else {
            problem.fields
        };
        Failure {
            next: problem.next_step,
            fields,
            reference: format!("{}{request}", problem.code),
            ..Failure::new(Exit::of_problem(&problem.code, problem.status), problem.detail)
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_reads_as_what_next_and_reference() {
        let failure = Failure::from(Problem {
            code: "SQD-1203".into(),
            status: 422,
            detail: "queue \"reserach\" does not exist; did you mean \"research\"?".into(),
            next_step: "list the queues with `squadron queues`".into(),
            request_id: "0193-77".into(),
            fields: Vec::new(),
        });
        assert_eq!(failure.exit, Exit::NotFound);
        insta::assert_snapshot!(failure.lines(), @r#"
        error: queue "reserach" does not exist; did you mean "research"?
          next: list the queues with `squadron queues`
          SQD-1203, request 0193-77
        "#);
    }

    #[test]
    fn wrong_fields_stand_one_per_line_and_cannot_move_the_cursor() {
        let failure = Failure::usage("train.yaml is no valid RayJob").fields(vec![FieldProblem {
            path: "spec.entrypont".into(),
            problem: "unknown field\u{1b}[2J; did you mean entrypoint?".into(),
        }]);
        insta::assert_snapshot!(failure.lines(), @"
        error: train.yaml is no valid RayJob
          spec.entrypont: unknown field�[2J; did you mean entrypoint?
        ");
    }

    #[test]
    fn innermost_cause_is_the_one_shown() {
        let inner = std::io::Error::other("connection refused");
        let failure = Failure::new(Exit::Unavailable, "cannot reach the server").because(inner);
        assert!(failure.lines().contains("why:  connection refused"), "{}", failure.lines());
    }
}
