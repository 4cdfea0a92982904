//! The text of a configuration file, and the positions of its fields.

use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::error::CliError;
use crate::nearest::nearest;

/// The most bytes of a configuration file. Such files are small; a larger one is a mistake or an attack.
const MAX_BYTES: u64 = 1024 * 1024;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    User,
    /// Whoever writes the project. Its file may be a link to any other, and what an error says of it reaches models and
    /// other programs, so it must be a file of its own, and no error repeats its text.
    Project,
}

/// A configuration file as text.
pub(super) struct Source {
    path: PathBuf,
    owner: Owner,
    text: String,
}

/// A value and the line on which it is written.
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

impl Source {
    /// Reads the file at `path`; `None` if there is no file.
    pub(super) fn read(path: &Path, owner: Owner) -> Result<Option<Self>, CliError> {
        if owner == Owner::Project
            && let Some(link) = path.ancestors().take(2).find(|path| path.is_symlink())
        {
            let message = format!(
                "{} is a link; the configuration of a project has to be a file in it",
                link.display()
            );
            return Err(CliError::ConfigurationFile { file: path.to_owned(), message });
        }
        Ok(read_text(path)?.map(|text| Self { path: path.to_owned(), owner, text }))
    }

    /// The fields of the file as a `T`.
    pub(super) fn fields<T: DeserializeOwned>(&self) -> Result<T, CliError> {
        toml::from_str(&self.text).map_err(|error| CliError::Configuration {
            file: self.path.clone(),
            line: error.span().map_or(1, |span| self.line(&span)),
            message: match self.owner {
                Owner::User => describe(&self.text, &error),
                Owner::Project => kind_of(&error).to_owned(),
            },
        })
    }

    /// What is wrong with a table, without its text if it is a project's.
    pub(super) fn problem(&self, error: &toml::de::Error) -> String {
        match self.owner {
            Owner::User => in_plain_words(error.message()),
            Owner::Project => kind_of(error).to_owned(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The error about a field of this file.
    pub(super) fn refuse(&self, line: usize, field: &str, problem: impl std::fmt::Display) -> CliError {
        let problem = problem.to_string();
        let problem = if self.owner == Owner::Project { self.unquoted(&problem) } else { problem };
        CliError::Configuration { file: self.path.clone(), line, message: format!("{field}: {problem}") }
    }

    /// An error without what it quotes of this file: other text of this file, and what is only written in another way.
    fn unquoted(&self, problem: &str) -> String {
        let (mut told, mut rest) = (String::new(), problem);
        while let Some((before, quoted)) = rest.split_once('"') {
            let mut is_marked = false;
            let end = quoted.find(|letter| {
                let ends = letter == '"' && !is_marked;
                is_marked = letter == '\\' && !is_marked;
                ends
            });
            let (text, after) = end.map_or((quoted, ""), |end| (&quoted[..end], &quoted[end + 1..]));
            let is_of_file = text.contains('\\') || self.text.contains(text);
            told.extend([before, "\"", if is_of_file { "…" } else { text }, "\""]);
            rest = after;
        }
        told + rest
    }

    /// Reads the value of a field with the given function.
    pub(super) fn parsed<T, E: std::fmt::Display>(
        &self,
        field: &str,
        value: Option<&Spanned<String>>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<Located<T>>, CliError> {
        let Some(value) = value else { return Ok(None) };
        let line = self.line(&value.span());
        let parsed = parse(value.get_ref()).map_err(|error| {
            let problem = error.to_string();
            // Where it does not stand between quotes it could be a part of any word, so then nothing else is said.
            let is_repeated = self.owner == Owner::Project
                && !value.get_ref().is_empty()
                && self.unquoted(&problem).contains(value.get_ref().as_str());
            self.refuse(line, field, if is_repeated { "its value is not allowed" } else { &problem })
        })?;
        Ok(Some(Located { value: parsed, line }))
    }

    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        line_of(&self.text, span.start)
    }
}

/// Reads a file with care, because a repository could put a FIFO, a device or a gigabyte in its place.
fn read_text(path: &Path) -> Result<Option<String>, CliError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return match dangling_link(path) {
                // This is an error because the rules are in a file somewhere else, and ignoring the link would silently
                // drop them.
                Some(link) => {
                    let message =
                        format!("{} is a link that leads nowhere; mend or remove it", link.display());
                    Err(CliError::ConfigurationFile { file: path.to_owned(), message })
                }
                None => Ok(None),
            };
        }
        Err(error) => return Err(CliError::io("read", path)(error)),
    };
    let refused =
        |message: &str| CliError::ConfigurationFile { file: path.to_owned(), message: message.into() };
    if !metadata.is_file() {
        return Err(refused("is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(CliError::io("read", path))?;
    if MAX_BYTES < bytes.len() as u64 {
        return Err(refused("is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| refused("is not UTF-8"))
}

/// The dangling link because of which there is nothing at `path`: the file itself, or a folder above it.
fn dangling_link(path: &Path) -> Option<&Path> {
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    fs::metadata(there).is_err().then_some(there)
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// What is wrong, without a word of the file.
fn kind_of(error: &toml::de::Error) -> &'static str {
    let message = error.message();
    if message.starts_with("unknown field") {
        "headstart has no setting of this name"
    } else if message.starts_with("invalid type") || message.starts_with("invalid value") {
        "the setting takes a value of another kind"
    } else if message.starts_with("missing field") {
        "a setting is missing here"
    } else if message.starts_with("duplicate") {
        "a setting stands twice"
    } else {
        "this line is not TOML"
    }
}

/// The parser's message, with the line that it is about, because the line names the field.
fn describe(text: &str, error: &toml::de::Error) -> String {
    let message = in_plain_words(error.message());
    let line = error.span().and_then(|span| text.lines().nth(line_of(text, span.start) - 1));
    let has_no_value = line.is_some_and(|line| line.trim_end().ends_with('='));
    let message = if has_no_value { "the value is missing".to_owned() } else { message };
    match line.map(str::trim).filter(|line| !line.is_empty()) {
        // A question names what is written, and ends the sentence.
        Some(_) if message.ends_with('?') => message,
        Some(line) => format!("{message}, in `{line}`"),
        None => message,
    }
}

/// The parser's message in words for people who know neither its types nor its grammar.
fn in_plain_words(message: &str) -> String {
    let message = message.trim_end().replace('\n', ", ");
    let message = message.trim_end_matches(", expected literal string");
    without_long_list(message).or_else(|| wrong_kind(message)).unwrap_or_else(|| message.to_owned())
}

/// The message about a value of the wrong kind, as `invalid type: string "many", expected u32`.
fn wrong_kind(message: &str) -> Option<String> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let expected = match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        kind if kind.starts_with("struct ") => "a table",
        other => other,
    };
    let found = match found.split_once(' ') {
        None if found == "sequence" => "a list".to_owned(),
        None if found == "map" => "a table".to_owned(),
        Some(("string", text)) => format!("the text {text}"),
        _ => found
            .rsplit_once('`')
            .and_then(|(before, _)| before.split_once('`'))
            .map_or_else(|| found.to_owned(), |(_, value)| value.to_owned()),
    };
    Some(format!("has to be {expected}, not {found}"))
}

/// Settings that people look for at the top of the file, with their tables.
const IN_TABLES: [(&str, &str); 8] = [
    ("limit", "budget"),
    ("hour_is_worth", "budget"),
    ("show_from", "budget"),
    ("turns", "limits"),
    ("tokens", "limits"),
    ("time_seconds", "limits"),
    ("command_seconds", "limits"),
    ("retries", "requests"),
];

/// The message about an unknown setting with the nearest name in the place of a long list of all of them.
fn without_long_list(message: &str) -> Option<String> {
    /// What can be read at a glance.
    const FEW: usize = 8;
    let (what, all) = message.strip_prefix("unknown ")?.split_once(", expected one of ")?;
    let known: Vec<_> = all.split(", ").map(|name| name.trim_matches('`')).collect();
    if known.len() <= FEW {
        return None;
    }
    let mistyped = what.split('`').nth(1)?;
    if let Some((_, table)) = IN_TABLES.iter().find(|(name, _)| *name == mistyped) {
        return Some(format!("unknown {what}; did you mean `{mistyped}` in [{table}]?"));
    }
    Some(match nearest(mistyped, known) {
        Some(near) => format!("unknown {what}; did you mean `{near}`?"),
        None => format!("unknown {what}; docs/formats.md has all names"),
    })
}
