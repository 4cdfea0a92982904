//! The options that a policy lists, and how arguments are compared with them.

/// In a policy's option this stands for any value.
const ANY_VALUE: &str = "VALUE";

/// An option in the list of an allow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AllowedOption {
    /// This word.
    Word(String),
    /// A word that starts with this; the rest is a value.
    Attached(String),
    /// This word, followed by its value as the next word; `None` stands for any value.
    Separate(String, Option<String>),
}

impl AllowedOption {
    /// Reads `--check`, `--format=json`, `--format=VALUE`, `--format VALUE`, `--format json` or `-jVALUE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        plain_option(text)?;
        if let Some((name, value)) = text.split_once(' ') {
            if value.is_empty() || value.contains(' ') || value.starts_with('-') || name.contains('=') {
                return Err("a value that is a word of its own is written as `--name VALUE`".to_owned());
            }
            let value = (value != ANY_VALUE).then(|| value.to_owned());
            return Ok(Self::Separate(name.to_owned(), value));
        }
        let Some(start) = text.strip_suffix(ANY_VALUE) else { return Ok(Self::Word(text.to_owned())) };
        let named = start.strip_suffix('=').is_some_and(|name| has_name(name) && !name.contains('='));
        let letter = start.len() == 2 && has_name(start);
        if !named && !letter {
            let problem = "VALUE stands behind `--name=`, `-x` or a blank, so that it is a value and not part of a name";
            return Err(problem.to_owned());
        }
        Ok(Self::Attached(start.to_owned()))
    }

    /// Whether `word`, together with the word behind it, is this option.
    pub(crate) fn is_given(&self, word: &str, next: Option<&[u8]>) -> bool {
        match self {
            Self::Word(own) => own == word,
            Self::Attached(start) => {
                word.starts_with(start) && (start.ends_with('=') || start.len() < word.len())
            }
            Self::Separate(name, None) => name == word,
            Self::Separate(name, Some(value)) => name == word && next == Some(value.as_bytes()),
        }
    }

    /// The option as it is written in a policy.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Attached(start) => format!("{start}{ANY_VALUE}"),
            Self::Separate(name, value) => format!("{name} {}", value.as_deref().unwrap_or(ANY_VALUE)),
        }
    }

    /// The name of the option, if its value is a word of its own.
    pub(crate) fn separate_name(&self) -> Option<&str> {
        match self {
            Self::Separate(name, _) => Some(name),
            _ => None,
        }
    }
}

/// An option in the list of a boundary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoppedOption {
    /// The name without dashes.
    name: String,
    /// The value that makes it a boundary; `None` for any.
    value: Option<String>,
}

impl StoppedOption {
    /// Reads the same forms as for an allow; a `VALUE` is the same as no value.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (word, value) = match AllowedOption::parse(text)? {
            AllowedOption::Word(word) => match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            },
            AllowedOption::Attached(start) => (start.trim_end_matches('=').to_owned(), None),
            AllowedOption::Separate(name, value) => (name, value),
        };
        let name = word.trim_start_matches('-').to_owned();
        if name.is_empty() {
            return Err("an option has a name".to_owned());
        }
        Ok(Self { name, value })
    }

    /// Whether a word with a leading dash may be this option: written out, abbreviated, in a bundle, with a value,
    /// with one dash or two.
    pub(crate) fn may_be(&self, word: &[u8]) -> bool {
        let name = self.name.as_bytes();
        let dashes = word.iter().take_while(|byte| **byte == b'-').count();
        let rest = &word[dashes..];
        if dashes == 0 || rest.is_empty() {
            return false;
        }
        let end = rest.iter().position(|byte| *byte == b'=');
        let (given, value) = match end {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        };
        let other_value = |value: &[u8]| self.value.as_ref().is_some_and(|own| own.as_bytes() != value);
        if name.starts_with(given) {
            return !value.is_some_and(other_value);
        }
        // The letter may stand in a bundle or have its value attached. Which letters take values is not known for an
        // arbitrary program.
        dashes == 1 && self.name.chars().count() == 1 && rest.windows(name.len()).any(|part| part == name)
    }
}

/// Checks what every form of an option must be.
fn plain_option(text: &str) -> Result<(), String> {
    if !text.starts_with('-') {
        return Err("an option starts with a dash; a sub-command belongs into `words`".to_owned());
    }
    if text.chars().any(|character| character.is_control() || (character.is_whitespace() && character != ' '))
    {
        return Err("a blank that is no space, or a control character".to_owned());
    }
    if text.contains('*') {
        return Err("there are no wild cards; VALUE stands for a value".to_owned());
    }
    Ok(())
}

fn has_name(word: &str) -> bool {
    word.trim_start_matches('-').starts_with(|first: char| first.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_a_word_or_has_a_value_in_its_place() {
        let word = |text: &str| Ok(AllowedOption::Word(text.to_owned()));
        let attached = |text: &str| Ok(AllowedOption::Attached(text.to_owned()));
        let separate = |name: &str, value: Option<&str>| {
            Ok(AllowedOption::Separate(name.to_owned(), value.map(str::to_owned)))
        };
        let cases = [
            ("--check", word("--check")),
            ("-", word("-")),
            ("--", word("--")),
            ("-json", word("-json")),
            ("--format=json", word("--format=json")),
            ("--format=VALUE", attached("--format=")),
            ("-state=VALUE", attached("-state=")),
            ("-jVALUE", attached("-j")),
            ("--format VALUE", separate("--format", None)),
            ("--format json", separate("--format", Some("json"))),
            ("VALUE", Err(())),
            ("check", Err(())),
            ("", Err(())),
            ("--*", Err(())),
            ("-VALUE", Err(())),
            ("--VALUE", Err(())),
            ("--=VALUE", Err(())),
            ("--formatVALUE", Err(())),
            ("--a=b=VALUE", Err(())),
            ("--format  VALUE", Err(())),
            ("--format --fix", Err(())),
            ("--format ", Err(())),
            ("--a\tb", Err(())),
        ];
        for (text, expected) in cases {
            assert_eq!(AllowedOption::parse(text).map_err(drop), expected, "{text}");
        }
    }

    #[test]
    fn a_boundary_takes_every_spelling_of_its_option() {
        let cases = [
            ("--output", "--output", true),
            ("--output", "--output=x", true),
            ("--output", "--out", true),
            ("--output", "--o=x", true),
            ("--output", "-output", true),
            ("--output", "--outputs", false),
            ("--output", "--input", false),
            ("--output", "--", false),
            ("--output", "-", false),
            ("--output", "output", false),
            ("--output=VALUE", "--output=x", true),
            ("--output VALUE", "--output", true),
            ("-o", "-o", true),
            ("-o", "-ro", true),
            ("-o", "-oFILE", true),
            ("-oVALUE", "-roFILE", true),
            ("-o", "-r", false),
            ("-o", "--recurse-to", false),
            ("-delete", "-delete", true),
            ("-delete", "--delete", true),
            ("-delete", "-depth", false),
            ("--mode=write", "--mode=write", true),
            ("--mode=write", "--mode=read", false),
            ("--mode=write", "--mode", true),
            ("--mode write", "--mode", true),
        ];
        for (option, word, expected) in cases {
            let option = StoppedOption::parse(option).unwrap();
            assert_eq!(option.may_be(word.as_bytes()), expected, "{option:?} {word}");
        }
        assert!(StoppedOption::parse("--").is_err());
    }
}
