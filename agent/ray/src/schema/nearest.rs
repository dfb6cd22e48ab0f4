//! Nearest: finds the name that a person most likely meant.

/// The known name closest to `written`, if it is close enough to be a slip.
pub(super) fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = written.to_lowercase();
    let allowed = (written.chars().count() / 3).clamp(1, 4);
    known
        .map(|name| (distance(&lower, &name.to_lowercase()), name))
        .filter(|(steps, _)| *steps <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `left` into `right`.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut steps = (last[j] + usize::from(a != b)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                steps = steps.min(before[j - 1] + 1);
            }
            row.push(steps);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["entrypoint", "rayClusterSpec", "runtimeEnvYAML", "replicas", "minReplicas"];

    #[test]
    fn slips_find_their_field() {
        let cases = [
            ("entryPoint", Some("entrypoint")),
            ("entypoint", Some("entrypoint")),
            ("rayClusterSpecs", Some("rayClusterSpec")),
            ("runtimeEnvYaml", Some("runtimeEnvYAML")),
            ("repilcas", Some("replicas")),
            ("somethingElse", None),
            ("x", None),
        ];
        for (written, expected) in cases {
            assert_eq!(nearest(written, KNOWN.into_iter()), expected, "{written}");
        }
    }
}
