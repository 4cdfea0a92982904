//! Lists of names as one text, separated by blanks: easier to read in the tables than arrays, and smaller.

/// Whether `name` is one of the names in `list`.
pub(crate) fn listed(list: &str, name: &str) -> bool {
    marks(list, name, |one, other| one == other).any(|mark| mark == b' ')
}

/// As [`listed`], ignoring case.
pub(crate) fn listed_in_any_case(list: &str, name: &str) -> bool {
    marks(list, name, <[u8]>::eq_ignore_ascii_case).any(|mark| mark == b' ')
}

/// The character behind `name` in each entry that starts with it; a blank if it is the whole entry.
pub(crate) fn marks_behind(list: &str, name: &str) -> impl Iterator<Item = u8> {
    marks(list, name, |one, other| one == other)
}

/// This runs for each word of a command over tables of hundreds of names, so it looks at bytes, and compares a whole
/// name only if its first letter is right.
fn marks(list: &str, name: &str, same: fn(&[u8], &[u8]) -> bool) -> impl Iterator<Item = u8> {
    let (list, name) = (list.as_bytes(), name.as_bytes());
    let first = name.first().map_or(0, u8::to_ascii_lowercase);
    // A name that contains a blank is in no list, even if its two parts stand side by side.
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
