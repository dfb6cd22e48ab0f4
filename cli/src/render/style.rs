//! Style: the few colours, always beside a word.

/// What a colour stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    #[default]
    Normal,
    Good,
    Bad,
    Waiting,
    Busy,
    Quiet,
    Strong,
}

impl Style {
    /// Wraps `text` in its colour, or leaves it as it is.
    pub fn paint(self, text: &str, colour: bool) -> String {
        match self.code().filter(|_| colour && !text.is_empty()) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }

    fn code(self) -> Option<&'static str> {
        match self {
            Style::Normal => None,
            Style::Good => Some("32"),
            Style::Bad => Some("31"),
            Style::Waiting => Some("33"),
            Style::Busy => Some("36"),
            Style::Quiet => Some("2"),
            Style::Strong => Some("1"),
        }
    }

    /// The colour of a state word of jobs, attempts, pods, clusters and incidents.
    pub fn of_state(word: &str) -> Style {
        match word {
            "succeeded" | "active" | "resolved" | "Succeeded" => Style::Good,
            "failed" | "silent" | "critical" | "open" | "Failed" => Style::Bad,
            "queued" | "assigned" | "stopping" | "pending" | "invited" | "warning" | "Pending" => {
                Style::Waiting
            }
            "starting" | "running" | "Running" => Style::Busy,
            "cancelled" | "revoked" => Style::Quiet,
            _ => Style::Normal,
        }
    }
}
