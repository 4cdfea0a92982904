//! Lists of names as one text, the names apart by blanks: the tables are easier to read so, and smaller.

/// Whether `name` is one of the names in `list`.
pub(crate) fn listed(list: &str, name: &str) -> bool {
    marks(list, name, |one, other| one == other).any(|mark| mark == b' ')
}

/// [`listed`], whatever the case of the letters.
pub(crate) fn listed_in_any_case(list: &str, name: &str) -> bool {
    marks(list, name, <[u8]>::eq_ignore_ascii_case).any(|mark| mark == b' ')
}

/// The character behind `name` of each entry that starts so; a blank where it is the whole entry.
pub(crate) fn marks_behind(list: &str, name: &str) -> impl Iterator<Item = u8> {
    marks(list, name, |one, other| one == other)
}

/// This runs for each word of a command over tables of hundreds of names, so it looks at bytes, and at a whole name only
/// where the first letter is right.
fn marks(list: &str, name: &str, same: fn(&[u8], &[u8]) -> bool) -> impl Iterator<Item = u8> {
    let (list, name) = (list.as_bytes(), name.as_bytes());
    let first = name.first().map_or(0, u8::to_ascii_lowercase);
    // A name with a blank is none, even if it is two that stand side by side.
    let mut at = if name.contains(&b' ') { list.len() } else { 0 };
    std::iter::from_fn(move || {
        while let Some(byte) = list.get(at) {
            let start = at;
            if *byte == b' ' {
                at += 1;
                continue;
            }
            at += list[start..].iter().take_while(|byte| **byte != b' ').count();
            if byte.to_ascii_lowercase() == first
                && list.get(start..start + name.len()).is_some_and(|entry| same(entry, name))
            {
                return Some(list.get(start + name.len()).copied().unwrap_or(b' '));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_whole_only() {
        let list = "cat head  tail";
        for name in ["cat", "head", "tail"] {
            assert!(listed(list, name), "{name}");
        }
        for name in ["", " ", "ca", "at", "cats", "Cat", "head tail", "cat head", "tail "] {
            assert!(!listed(list, name), "{name:?}");
        }
        assert!(listed_in_any_case(list, "HEAD"));
        assert!(!listed_in_any_case(list, "HEA"));
        assert!(!listed("", "a"));
    }

    #[test]
    fn what_stands_behind_a_name_is_told_for_each_entry() {
        let marks = |name| marks_behind("color= color? col lines", name).map(char::from).collect::<String>();
        assert_eq!(marks("color"), "=?");
        assert_eq!(marks("col"), "oo ");
        assert_eq!(marks("lines"), " ");
        assert_eq!(marks("x"), "");
    }
}
