//! Nearest: the name that somebody probably meant.

/// The candidate with the fewest typing errors from `text`, if it is near enough to be meant. Ties go to the first.
pub fn nearest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (text.chars().count() / 3).clamp(1, 3);
    let rated = candidates.into_iter().map(|candidate| (distance(text, candidate), candidate));
    let mut best: Option<(usize, &str)> = None;
    for (errors, candidate) in rated.filter(|(errors, _)| *errors <= allowed) {
        if best.is_none_or(|(fewest, _)| errors < fewest) {
            best = Some((errors, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours between two short texts.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut fewest = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                fewest = fewest.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = fewest;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognised_and_another_word_is_not() {
        let queues = ["default", "research", "research-gpu"];
        assert_eq!(nearest("reserach", queues), Some("research"));
        assert_eq!(nearest("defualt", queues), Some("default"));
        assert_eq!(nearest("training", queues), None);
        assert_eq!(nearest("", queues), None);
    }
}
