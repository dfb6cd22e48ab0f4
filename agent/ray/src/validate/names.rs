//! Names of objects, label keys and label values.

/// What is wrong with `name` as an RFC 1035 label of at most `most` characters.
pub(super) fn dns_label(name: &str, most: usize) -> Option<String> {
    let bytes = name.as_bytes();
    let legal = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    if name.is_empty() {
        Some("is missing; give the object a name".to_owned())
    } else if name.chars().count() > most {
        Some(format!("has {} characters; at most {most} are allowed", name.chars().count()))
    } else if !bytes.iter().all(legal) || !bytes[0].is_ascii_lowercase() || bytes.ends_with(b"-") {
        Some(
            "must be lower-case letters, digits and '-', starting with a letter and ending with a letter or digit"
                .to_owned(),
        )
    } else {
        None
    }
}

/// A label key: an optional DNS prefix and `/`, then a name.
pub(super) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let part = |part: &str| !part.is_empty() && part.len() <= 63 && dns_label_1123(part);
    let prefix_legal = prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(part));
    prefix_legal && !name.is_empty() && is_label_value(name)
}

/// A label value: at most 63 letters, digits, `-`, `_` and `.`, alphanumeric at both ends; may be empty.
pub(super) fn is_label_value(value: &str) -> bool {
    let bytes = value.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edges = [bytes.first(), bytes.last()];
    value.len() <= 63 && bytes.iter().all(inner) && edges.into_iter().flatten().all(u8::is_ascii_alphanumeric)
}

fn dns_label_1123(part: &str) -> bool {
    let bytes = part.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    bytes.iter().all(inner) && !part.starts_with('-') && !part.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_2_names_are_rfc_1035_labels() {
        for (name, legal) in [
            ("train", true),
            ("train-7b", true),
            ("7b", false),
            ("Train", false),
            ("train-", false),
            ("", false),
        ] {
            assert_eq!(dns_label(name, 47).is_none(), legal, "{name}");
        }
        assert!(dns_label(&"a".repeat(47), 47).is_none());
        assert_eq!(
            dns_label(&"a".repeat(48), 47).as_deref(),
            Some("has 48 characters; at most 47 are allowed")
        );
    }

    #[test]
    fn v_5_labels_keep_kubernetes_syntax() {
        for (key, legal) in [
            ("team", true),
            ("ray.io/team", true),
            ("a//b", false),
            ("-a", false),
            ("", false),
            ("A/b", false),
        ] {
            assert_eq!(is_label_key(key), legal, "{key}");
        }
        assert!(
            is_label_value("")
                && is_label_value("a.b_c-d")
                && !is_label_value("a b")
                && !is_label_value("a-")
        );
    }
}
