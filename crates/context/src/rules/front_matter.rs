use std::fmt::Write as _;

use super::{FilePatterns, RuleScope};
use crate::sanitize::{sanitize, sanitize_line};

/// What stands above a rule, between two lines of `---`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    globs: Vec<String>,
    regex: Option<String>,
    always: Option<bool>,
    /// Lines that are not understood, each with its number.
    pub(super) problems: Vec<String>,
}

const KEYS: &str = "name, description, globs, regex and always";

/// The front matter of a file, and the text below it. A file that does not begin with `---`, or in which that is not
/// closed, is only text.
pub(super) fn split(file: &str) -> (FrontMatter, &str) {
    let Some(rest) = file.strip_prefix("---\n") else { return (FrontMatter::default(), file) };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (FrontMatter::read(&rest[..end]), &rest[end + line.len()..]);
        }
        end += line.len();
    }
    let mut open = FrontMatter::default();
    open.problems.push("line 1: the front matter is never closed; end it with a line ---".to_owned());
    (open, file)
}

impl FrontMatter {
    fn read(text: &str) -> Self {
        let mut read = Self::default();
        // Whether list entries belong to the key `globs`.
        let mut in_globs = false;
        for (index, line) in text.lines().enumerate() {
            let number = index + 2;
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            if let Some(item) = trimmed.strip_prefix("- ").filter(|_| in_globs) {
                read.globs.extend(unquoted(item));
                continue;
            }
            let Some((key, value)) = trimmed.split_once(':') else {
                read.problems.push(format!("line {number}: not of the form key: value"));
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            in_globs = key == "globs";
            match key {
                "name" => read.name = unquoted(value),
                "description" => read.description = unquoted(value),
                "globs" => read.globs = list(value),
                "regex" => read.regex = unquoted(value),
                "always" | "alwaysApply" => match value {
                    "true" => read.always = Some(true),
                    "false" => read.always = Some(false),
                    _ => read.problems.push(format!("line {number}: {key} is true or false, not {value:?}")),
                },
                _ => read.problems.push(format!(
                    "line {number}: {key:?} is not known and has no effect; the keys are {KEYS}"
                )),
            }
        }
        read
    }

    /// The files to which the rule applies. Without such a key it always applies, or, if it has only a description,
    /// on request.
    pub(super) fn scope(&self) -> Result<RuleScope, String> {
        if self.always == Some(true) {
            return Ok(RuleScope::Always);
        }
        if !self.globs.is_empty() || self.regex.is_some() {
            return FilePatterns::new(self.globs.clone(), self.regex.as_deref()).map(RuleScope::Files);
        }
        let waits = self.description.is_some() || self.always == Some(false);
        Ok(if waits { RuleScope::OnRequest } else { RuleScope::Always })
    }
}

/// A rule to be written.
pub(super) struct RuleDraft<'a> {
    pub(super) description: Option<&'a str>,
    pub(super) globs: &'a [String],
    pub(super) always: bool,
    pub(super) text: &'a str,
}

/// The text of a rule's file, from which the same rule is read again. The error says what would be read otherwise.
pub(super) fn write(rule: &RuleDraft<'_>) -> Result<String, String> {
    let text = sanitize(rule.text);
    let text = text.trim();
    if text.is_empty() {
        return Err("the rule is empty".to_owned());
    }
    let mut front = FrontMatter { always: rule.always.then_some(true), ..FrontMatter::default() };
    let mut file = String::new();
    front.description = rule.description.map(|description| sanitize_line(description, 300).trim().to_owned());
    front.description.take_if(|description| description.is_empty());
    if let Some(description) = &front.description {
        let _ = writeln!(file, "description: \"{description}\"");
    }
    if !rule.globs.is_empty() {
        file.push_str("globs:\n");
        for glob in rule.globs {
            let _ = writeln!(file, "  - \"{glob}\"");
        }
        front.globs = rule.globs.to_vec();
    }
    if rule.always {
        file.push_str("always: true\n");
    }
    let file = if file.is_empty() { format!("{text}\n") } else { format!("---\n{file}---\n\n{text}\n") };
    let (read, body) = split(&file);
    if read != front || body.trim() != text {
        return Err(
            "the globs, the description or the first line of the rule would be read as something else; \
                    a pattern is one line without quotes around it, and a rule does not begin with ---"
                .to_owned(),
        );
    }
    read.scope()?;
    Ok(file)
}

/// A text without its quotes; `None` if it is empty.
fn unquoted(value: &str) -> Option<String> {
    let value = value.trim();
    let inner = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some(inner.unwrap_or(value).to_owned()).filter(|value| !value.is_empty())
}

/// `a, b`, `["a", "b"]` or nothing. A comma within braces belongs to its pattern.
fn list(value: &str) -> Vec<String> {
    let inner = value.strip_prefix('[').and_then(|value| value.strip_suffix(']')).unwrap_or(value);
    let (mut items, mut item, mut depth) = (Vec::new(), String::new(), 0_i32);
    for sign in inner.chars().chain([',']) {
        match sign {
            ',' if depth <= 0 => items.extend(unquoted(&std::mem::take(&mut item))),
            _ => {
                depth += i32::from(sign == '{') - i32::from(sign == '}');
                item.push(sign);
            }
        }
    }
    // The brace is not closed, which the pattern itself reports.
    items.extend(unquoted(item.trim_end_matches(',')));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_come_in_every_spelling() {
        for globs in [
            "globs: a.rs, {b,c}/*.ts",
            "globs: [\"a.rs\", '{b,c}/*.ts']",
            "globs:\n  - a.rs\n  - \"{b,c}/*.ts\"",
        ] {
            let file = format!("---\nname: x\n{globs}\n# a comment\n\nalways: false\n---\ntext\n");
            let (front, text) = split(&file);
            assert_eq!(
                (front.globs.as_slice(), text),
                (&["a.rs".to_owned(), "{b,c}/*.ts".into()][..], "text\n"),
                "{globs}"
            );
            assert!(front.problems.is_empty() && matches!(front.scope(), Ok(RuleScope::Files(_))));
        }
    }

    #[test]
    fn what_a_rule_counts_for() {
        let cases = [
            ("text", Ok(RuleScope::Always)),
            ("---\n---\ntext", Ok(RuleScope::Always)),
            ("---\ndescription: for releases\n---\n", Ok(RuleScope::OnRequest)),
            ("---\nalways: false\n---\n", Ok(RuleScope::OnRequest)),
            ("---\nalwaysApply: true\nglobs: *.rs\n---\n", Ok(RuleScope::Always)),
            (
                "---\nglobs: a[\n---\n",
                Err("globs: \"a[\": a `[` is never closed; write `\\[` for the character itself"),
            ),
            (
                "---\nglobs: {a,b\n---\n",
                Err("globs: \"{a,b\": a brace has no partner; write `\\{` or `\\}` for the character itself"),
            ),
        ];
        for (file, expected) in cases {
            let scope = split(file).0.scope();
            assert_eq!(scope, expected.map_err(str::to_owned), "{file}");
        }
        assert!(split("---\nregex: (\n---\n").0.scope().unwrap_err().starts_with("regex: "));
    }

    #[test]
    fn what_is_not_understood_is_said_with_its_line() {
        let (front, _) = split("---\npolicy: automatic\nalways: maybe\nwhat\n---\n");
        insta::assert_debug_snapshot!(front.problems, @r#"
        [
            "line 2: \"policy\" is not known and has no effect; the keys are name, description, globs, regex and always",
            "line 3: always is true or false, not \"maybe\"",
            "line 4: not of the form key: value",
        ]
        "#);
        let (open, text) = split("---\nname: x\n");
        assert_eq!((open.problems.len(), text), (1, "---\nname: x\n"));
    }
}
