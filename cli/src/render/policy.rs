//! Changes of policy, one thing after the other, each with its fields before and after.

use squadron_api::policy::PolicyChange;

use super::{plain, style::Style};

/// `+` added, `~` changed, `-` removed.
pub fn changes(changes: &[PolicyChange], colour: bool) -> String {
    changes.iter().map(|change| one(change, colour)).collect()
}

/// `2 added, 1 changed`.
pub fn tally(changes: &[PolicyChange]) -> String {
    let number = |word: &&str| changes.iter().filter(|change| change.change == **word).count();
    let words = ["added", "changed", "removed"];
    let parts: Vec<String> = words
        .iter()
        .map(|word| (number(word), word))
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    parts.join(", ")
}

fn one(change: &PolicyChange, colour: bool) -> String {
    let (sign, style) = match change.change.as_str() {
        "added" => ("+", Style::Good),
        "removed" => ("-", Style::Bad),
        _ => ("~", Style::Waiting),
    };
    let title = format!("{sign} {} {} {}", plain(&change.kind), plain(&change.name), plain(&change.change));
    let mut text = format!("{}\n", style.paint(&title, colour));
    for field in &change.fields {
        let value = match (field.before.as_str(), field.after.as_str()) {
            ("", after) if change.change == "added" => plain(after),
            (before, "") if change.change == "removed" => plain(before),
            (before, after) => format!("{} → {}", or_nothing(before), or_nothing(after)),
        };
        text.push_str(&format!("    {}: {value}\n", plain(&field.field)));
    }
    text
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() { "(nothing)".to_owned() } else { plain(text) }
}

#[cfg(test)]
mod tests {
    use squadron_api::policy::PolicyField;

    use super::*;

    fn change(change: &str, name: &str, fields: &[(&str, &str, &str)]) -> PolicyChange {
        let field = |(field, before, after): &(&str, &str, &str)| PolicyField {
            field: (*field).to_owned(),
            before: (*before).to_owned(),
            after: (*after).to_owned(),
        };
        PolicyChange {
            kind: "queue".into(),
            name: name.into(),
            change: change.into(),
            fields: fields.iter().map(field).collect(),
        }
    }

    #[test]
    fn changes_read_as_before_and_after() {
        let all = [
            change("added", "a", &[("h100 gpu nominal", "", "8")]),
            change(
                "changed",
                "b",
                &[("weight", "1", "2"), ("parent", "", "a"), ("h100 gpu lending limit", "4", "")],
            ),
            change("removed", "c", &[("weight", "1", "")]),
        ];
        insta::assert_snapshot!(changes(&all, false), @"
        + queue a added
            h100 gpu nominal: 8
        ~ queue b changed
            weight: 1 → 2
            parent: (nothing) → a
            h100 gpu lending limit: 4 → (nothing)
        - queue c removed
            weight: 1
        ");
        assert_eq!(tally(&all), "1 added, 1 changed, 1 removed");
        assert_eq!(tally(&all[..1]), "1 added");
    }
}
