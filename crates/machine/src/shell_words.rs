//! Quotes texts as words of a command line, so that every Unix shell reads them unchanged.

/// A text as one word.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Several words as a line.
pub fn shell_line<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    words.into_iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_the_words_as_they_are() {
        let words = [
            "plain/word",
            "",
            " ",
            "it's",
            "'",
            "''",
            "$(touch x) `touch x` \\ \" !",
            "a\nb",
            "*",
            "~",
            "-n",
            "é",
        ];
        let line = format!("printf '%s\\0' {}", shell_line(words));
        let said = Command::new("sh").args(["-c", &line]).output().unwrap().stdout;
        let expected = words.join("\0") + "\0";
        assert_eq!(String::from_utf8(said).unwrap(), expected);
    }
}
