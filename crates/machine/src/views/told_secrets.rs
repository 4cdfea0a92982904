//! Whether a command told what git keeps of a file with a secret. Such files are not in a view, but their objects are, and
//! any program can ask git for them. So what a command printed and wrote is compared with them before anybody is told.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use headstart_git_ahead::{KeptFile, Surroundings};
use headstart_overlay_fs::{ChangeKind, ChangeSet, WorkspacePath};
use headstart_tool_gate::DenyRules;

use super::kept_in_repository::{name_of, readable};
use super::lock;
use crate::git::{Family, settings_with_tokens};
use crate::secrets::names_a_secret;
use crate::system::read_plain;

/// The most bytes of a repository's settings.
const MAX_SETTINGS: u64 = 1 << 20;
/// The least bytes of a text that counts as a trace of a file.
const LEAST: usize = 8;

/// What git keeps of such files, for the last state of the workspace's repository and of those below it.
#[derive(Debug)]
pub(super) struct KeptSecrets {
    home: Option<PathBuf>,
    last: Mutex<Option<(Vec<u8>, Arc<Traces>)>>,
}

/// The texts by which the files are recognised.
#[derive(Debug, Default)]
pub(super) struct Traces {
    files: Vec<SecretFile>,
    /// The lines of the files by their first bytes, each with the number of its file.
    by_start: HashMap<[u8; LEAST], Vec<(Vec<u8>, usize)>>,
    /// What git keeps of them.
    contents: HashSet<Vec<u8>>,
    repositories: Vec<Surroundings>,
}

#[derive(Debug)]
struct SecretFile {
    path: String,
    lines: usize,
}

impl KeptSecrets {
    pub(super) fn new(home: Option<PathBuf>) -> Self {
        Self { home, last: Mutex::default() }
    }

    /// The traces of files with secrets in the repositories with these tops, the workspace first; the error says why that
    /// cannot be told.
    pub(super) fn traces(&self, tops: &[PathBuf]) -> Result<Arc<Traces>, String> {
        let state = tops.iter().flat_map(|top| {
            let stamp = Surroundings::stamp(top).unwrap_or_default();
            [top.as_os_str().as_encoded_bytes(), b"\n", &stamp].concat()
        });
        let state: Vec<_> = state.collect();
        let mut last = lock(&self.last);
        if let Some((known, traces)) = &*last
            && *known == state
        {
            return Ok(Arc::clone(traces));
        }
        let traces = Arc::new(self.read(tops)?);
        *last = Some((state, Arc::clone(&traces)));
        Ok(traces)
    }

    fn read(&self, tops: &[PathBuf]) -> Result<Traces, String> {
        let Some(workspace) = tops.first() else { return Ok(Traces::default()) };
        let mut traces = Traces::default();
        for top in tops {
            let unknown = |why: String| {
                format!(
                    "{why}; so it cannot be told what {} keeps of files with secrets, which every program in a view could ask git for",
                    name_of(top, workspace)
                )
            };
            let is_shown = |top: &Path| Family::of(top, self.home.as_deref()).is_ok();
            let Some(repository) = readable(top, workspace, is_shown).map_err(unknown)? else { continue };
            let kept = repository.contents(is_secret, holds_secrets);
            for KeptFile { path, content } in kept.map_err(|why| unknown(why.to_string()))? {
                let path = String::from_utf8_lossy(&path).into_owned();
                let path = if path.is_empty() { "a file that was staged once".to_owned() } else { path };
                traces.add(path, content);
            }
            // Those of the workspace itself end a command before it begins, and most others are hidden.
            let of_others =
                if top == workspace { Vec::new() } else { settings_with_tokens(&top.join(".git")) };
            for file in of_others {
                let content = read_plain(&file, MAX_SETTINGS).map_err(|why| unknown(why.to_string()))?;
                let path = file.strip_prefix(workspace).unwrap_or(&file);
                traces.add(path.display().to_string(), content);
            }
            traces.repositories.push(repository);
        }
        Ok(traces)
    }
}

impl Traces {
    fn add(&mut self, path: String, content: Vec<u8>) {
        let lines: HashSet<_> = content.split(|byte| *byte == b'\n').filter_map(telling).collect();
        let words = lines.iter().flat_map(|line| words(line)).filter(|word| is_made_by_a_program(word));
        let words: HashSet<_> =
            words.chain(lines.iter().copied().filter(|line| looks_secret(line))).collect();
        let encoded = words.iter().flat_map(|word| encoded(word));
        let plain = lines.union(&words).map(|line| line.to_vec());
        for line in plain.chain(encoded) {
            if let Some(start) = line.first_chunk() {
                self.by_start.entry(*start).or_default().push((line, self.files.len()));
            }
        }
        self.files.push(SecretFile { path, lines: lines.len() });
        self.contents.insert(content);
    }

    /// Whether git keeps this content of one of the files.
    pub(super) fn has_content(&self, content: &[u8]) -> bool {
        self.contents.contains(content)
    }

    /// Why no program may be told what a command printed and wrote; `None` if it holds no file with a secret.
    pub(super) fn objection(&self, printed: &[u8], written: &ChangeSet) -> Option<String> {
        let file = self.file_told_by(printed, written)?;
        Some(format!("what it printed or wrote holds what git keeps of {file}, which is closed"))
    }

    /// The file that a command told of: by half of its lines, or by one that looks like a secret. What stands in an open
    /// file of the last commit as well is none.
    fn file_told_by(&self, printed: &[u8], written: &ChangeSet) -> Option<&str> {
        if self.by_start.is_empty() {
            return None;
        }
        let mut found: HashMap<usize, HashSet<&[u8]>> = HashMap::new();
        self.search(printed, &mut found);
        for change in &written.changes {
            if let ChangeKind::Write { content, .. } = &change.kind
                && DenyRules::default().secret(&change.path).is_none()
            {
                self.search(content, &mut found);
            }
        }
        let is_open = |line: &[u8]| {
            let mut holding = self.repositories.iter().filter_map(|repository| repository.holding(line).ok());
            holding.any(|paths| paths.iter().any(|path| !is_secret(path)))
        };
        let told = found.into_iter().find(|(number, lines)| {
            let closed: Vec<_> = lines.iter().filter(|line| !is_open(line)).collect();
            closed.iter().any(|line| looks_secret(line))
                || !closed.is_empty() && self.files[*number].lines <= 2 * closed.len()
        });
        told.map(|(number, _)| self.files[number].path.as_str())
    }

    /// Searches a text for the lines, also for those that it breaks.
    fn search<'a>(&'a self, text: &[u8], found: &mut HashMap<usize, HashSet<&'a [u8]>>) {
        let unbroken: Vec<_> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
        self.search_in(text, found);
        self.search_in(&unbroken, found);
    }

    fn search_in<'a>(&'a self, text: &[u8], found: &mut HashMap<usize, HashSet<&'a [u8]>>) {
        for (at, start) in text.windows(LEAST).enumerate() {
            let Some(lines) = start.try_into().ok().and_then(|start: &[u8; LEAST]| self.by_start.get(start))
            else {
                continue;
            };
            for (line, number) in lines.iter().filter(|(line, _)| text[at..].starts_with(line)) {
                found.entry(*number).or_default().insert(line);
            }
        }
    }
}

fn is_secret(path: &[u8]) -> bool {
    WorkspacePath::from_bytes(path).is_ok_and(|path| DenyRules::default().secret(&path).is_some())
}

/// Whether a content of which nobody knows the name is that of a private key, or of variables one of which is called as a
/// secret and has a value that a program made.
fn holds_secrets(content: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(content) else { return false };
    if text.contains("PRIVATE KEY-----") {
        return true;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut is_telling, mut are_all) = (false, true);
    for line in lines {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { return false };
        are_all &= !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let value = value.trim().trim_matches(['"', '\'']);
        is_telling |= names_a_secret(name) && is_made_by_a_program(value.as_bytes());
    }
    is_telling && are_all
}

/// A line without what frames it, if it says something that few other files say.
fn telling(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let is_frame = line.starts_with(b"#") || line.starts_with(b"//") || line.starts_with(b"-----");
    (LEAST <= line.len() && !is_frame).then_some(line)
}

/// Whether the value in a line, or the line as a whole, is of the kind that programs make and nobody types.
fn looks_secret(line: &[u8]) -> bool {
    is_made_by_a_program(value_in(line))
}

fn is_made_by_a_program(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    12 <= value.len()
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !has(u8::is_ascii_whitespace)
}

fn value_in(line: &[u8]) -> &[u8] {
    let at = line.iter().position(|byte| matches!(byte, b'=' | b':'));
    let value = at.map_or(line, |at| &line[at + 1..]).trim_ascii();
    let quoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    quoted.unwrap_or(value)
}

/// What a program that takes a line apart may hand on by itself: the value, and each part between signs by which formats
/// and addresses separate theirs.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;:=&?@<>(){}[]".contains(byte);
    line.split(is_separator).chain([value_in(line)])
}

/// A word in base64, wherever in a longer text it begins, and in hexadecimal digits.
fn encoded(word: &[u8]) -> Vec<Vec<u8>> {
    let in_base64 = (0..3).map(|before| {
        let text = BASE64_STANDARD.encode([&vec![0; before], word].concat());
        // The first and the last sign hold bits of what stands around it.
        let end = (before + word.len()) * 8 / 6;
        text.as_bytes()[before + usize::from(before != 0)..end].to_vec()
    });
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    let in_digits = word.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
    in_base64.chain([in_digits]).collect()
}
