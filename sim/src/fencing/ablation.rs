//! Ablation: a run without one rule, for tests that show that the checker sees what the rule prevents.

/// A rule that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rule {
    /// No index on live attempts, and assignments do not look at the job again.
    R1,
    /// Reports count for the job's newest attempt, whichever they name.
    R2,
    /// An object that has the name is taken for ours.
    R3,
    /// No inventory is sent.
    R4,
    /// A suspected cluster's attempts start elsewhere.
    R5,
    /// No guard after the lease.
    R6Guard,
    /// The holder counts from the acknowledgement.
    R6Sent,
    /// No fencer.
    R7,
    /// A suspected cluster gets new attempts.
    R8,
    /// Silence is the difference of wall clocks since the stored renewal.
    R9,
    /// Writes do not look at the term.
    R10,
    /// Every life that says hello is heard.
    R11,
    /// A cancelled job frees its quota at once.
    R12,
    /// Repeated and late messages count again.
    R13,
    /// What a person deleted is made anew.
    R14,
}

impl Rule {
    pub const ALL: [Rule; 15] = [
        Rule::R1,
        Rule::R2,
        Rule::R3,
        Rule::R4,
        Rule::R5,
        Rule::R6Guard,
        Rule::R6Sent,
        Rule::R7,
        Rule::R8,
        Rule::R9,
        Rule::R10,
        Rule::R11,
        Rule::R12,
        Rule::R13,
        Rule::R14,
    ];
}
