//! Which names mean on Windows what they say.

/// Names of devices, in every folder and with every ending.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
/// Names of devices before a digit.
const NUMBERED: [&str; 2] = ["COM", "LPT"];

/// Whether a name is that of one thing in a folder, and the only name that the system knows it by (apart from upper and
/// lower case, which rules about names ignore as well). Not so are paths, streams of a file (`.env::$DATA`), names whose
/// end the system ignores (`.env.`), devices (`nul.txt`), and short names that the system may have made for a file with a
/// longer one (`ENVIRO~1`).
pub(in crate::os) fn is_plain(name: &str) -> bool {
    let is_odd = |letter: char| letter < ' ' || r#"\/:*?"<>|"#.contains(letter);
    !name.is_empty()
        && !name.contains(is_odd)
        && !name.ends_with(['.', ' '])
        && !is_device(name)
        && !is_short_name(name)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ');
    let is = |device: &str| stem.eq_ignore_ascii_case(device);
    let is_numbered = |device: &str| {
        let number = stem.get(..3).filter(|start| start.eq_ignore_ascii_case(device)).and(stem.get(3..));
        let mut letters = number.unwrap_or_default().chars();
        // Superscripts are digits to the system.
        matches!((letters.next(), letters.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
    };
    DEVICES.into_iter().any(is) || NUMBERED.into_iter().any(is_numbered)
}

/// Whether a name has the form of those that the system makes: up to eight letters of which the last are `~` and a
/// number, and an ending of up to three.
fn is_short_name(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let number = stem.rsplit_once('~').map(|(_, number)| number).unwrap_or_default();
    stem.chars().count() <= 8
        && ending.chars().count() <= 3
        && !number.is_empty()
        && number.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that closes `.env` would be passed by another spelling of the same file, so no other spelling is a name.
    #[test]
    fn what_the_system_takes_for_something_else_is_no_name() {
        let others = [
            "",
            r"..\.env",
            r"a\b",
            "a/b",
            "C:",
            "C:secret",
            ".env:",
            ".env::$DATA",
            "notes.txt:hidden",
            ".env.",
            ".env ",
            ".env. .",
            "a*",
            "a?",
            "a\"b",
            "<a",
            "a>",
            "a|b",
            "a\0",
            "a\n",
            "\u{1f}",
            "nul",
            "NUL.txt",
            "con",
            "aux.tar.gz",
            "prn .txt",
            "COM1",
            "com9.log",
            "lpt²",
            "LPT0",
            "CONIN$",
            "conout$.txt",
            "ENVIRO~1",
            "env~1",
            "SECRE~12.PEM",
            "~1",
        ];
        for name in others {
            assert!(!is_plain(name), "{name:?}");
        }
    }

    #[test]
    fn names_that_people_use_are_names() {
        let names = [
            ".env",
            "a b",
            "main.rs",
            "notes.txt~",
            "#notes#",
            ".main.rs.~1~",
            "console",
            "auxiliary.c",
            "com",
            "com10",
            "comet1",
            "lpt",
            "größe",
            "日本",
            "a~b",
            "longername~1",
            "name~1.toml",
            ".",
        ];
        let refused: Vec<_> = names.into_iter().filter(|name| !is_plain(name)).collect();
        assert_eq!(refused, ["."], "the folder itself is asked for in another way");
    }
}
