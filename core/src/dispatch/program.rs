//! Program: what of a job's entrypoint is the same each time it is run.
//!
//! Owns the question which jobs run the same thing with other numbers: `python train.py --lr 3` and `python train.py --lr 4` do.
//! Invariant: short, and without control characters, settings or options, in which secrets may stand. Fails by taking different
//! work for the same, or the same for different; then run times are foretold worse, and nothing else happens.

/// Characters of a program at most.
const MOST: usize = 100;

/// The words of an entrypoint up to the first that looks like a file or a module, without settings (`A=b`) and options.
pub fn program(entrypoint: &str) -> String {
    let plain = |word: &&str| !word.starts_with('-') && !word.contains('=');
    let words: Vec<&str> = entrypoint.split_whitespace().filter(plain).collect();
    let named = words.iter().skip(1).position(|word| word.contains('.')).map_or(1, |at| at + 2);
    let kept = words.get(..named).unwrap_or(&words).join(" ");
    kept.chars().filter(|letter| !letter.is_control()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_work_with_other_numbers_is_one_program() {
        let same = ["python train.py --lr 3", "python   train.py --lr=4 7", "SEED=9 python -u train.py"];
        assert!(same.iter().all(|entrypoint| program(entrypoint) == "python train.py"));
        assert_eq!(program("python -m team.eval --key hush"), "python team.eval");
        assert_eq!(program("python3.12 train.py"), "python3.12 train.py");
        assert_eq!(program("torchrun --nproc-per-node=8 big.py"), "torchrun big.py");
        assert_eq!(program("sleep 30"), program("sleep 40"));
    }

    #[test]
    fn other_work_is_another_program() {
        assert_ne!(program("python train.py"), program("python eval.py"));
    }

    #[test]
    fn hostile_text_is_short_and_clean() {
        assert_eq!(program(""), "");
        assert_eq!(program("a\0b \u{7}.x"), "ab .x");
        assert_eq!(program(&"ü".repeat(1_000)).chars().count(), MOST);
    }
}
