//! Verdicts on tools of servers: other programs, which see the real files and may reach anything else.

use headstart_workspace_path::{PathError, WorkspacePath};
use serde_json::{Map, Value};

use crate::{Behaviour, Declaration, EffectKind, GateContext, Reason, Verdict, files};

/// The most words of a call that are looked at. A call with more asks the user.
const MAX_WORDS: usize = 10_000;

/// What separates the words of a text. Each word may be a path.
const BETWEEN: &[char] =
    &['"', '\'', '`', ',', ';', ':', '=', '(', ')', '[', ']', '{', '}', '<', '>', '|', '&'];

/// The verdict on a call. The gate does not know what such a tool's arguments mean, so each text in them may be a
/// path.
pub(crate) fn judge(declared: &Declaration, args: &Map<String, Value>, context: &GateContext) -> Verdict {
    let mut texts = Vec::new();
    if !texts_of(args, &mut texts) {
        return Verdict::boundary(Reason::Limit, "the call has too many arguments to look at");
    }
    let named = texts.iter().filter_map(|text| context.resolve(&plain(text)).ok());
    let closed = named.filter(|path| !path.is_root()).find_map(|path| files::closed_to_reads(&path, context));
    let anything =
        |verdict: Verdict| verdict.with_effect(EffectKind::Unknown, "a tool of a server may do anything");
    match (&declared.behaviour, closed) {
        (Behaviour::ReadsRealFiles, None) => match texts.iter().find_map(|text| suspicious(text, context)) {
            Some(stopped) => stopped,
            None => files::reading(&declared.name, &[WorkspacePath::root()]),
        },
        (Behaviour::ReadsRealFiles, Some(closed)) => closed,
        (_, Some(closed)) => anything(closed),
        (_, None) => {
            let detail = format!(
                "{} is a tool of a server: what it does is not staged, and nothing here can undo it",
                declared.name
            );
            anything(Verdict::boundary(Reason::ServerTool, detail))
        }
    }
}

/// Collects every text of a call, including the names of arguments; `false` if there are too many.
fn texts_of(args: &Map<String, Value>, texts: &mut Vec<String>) -> bool {
    let mut left: Vec<&Value> = Vec::new();
    let add = |map: &Map<String, Value>, texts: &mut Vec<String>| texts.extend(map.keys().cloned());
    add(args, texts);
    left.extend(args.values());
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(list) => left.extend(list),
            Value::Object(map) => {
                add(map, texts);
                left.extend(map.values());
            }
            _ => {}
        }
        if MAX_WORDS < texts.len() {
            return false;
        }
    }
    true
}

/// A text as a server may read it: a `file:` address stands for a path, and `%2e` for a dot.
fn plain(text: &str) -> String {
    let text = text.trim();
    let text = match text.get(..7).filter(|start| start.eq_ignore_ascii_case("file://")) {
        Some(_) => &text[7..],
        None => text,
    };
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        plain.push(decoded.unwrap_or(*byte));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

/// Why a text of a call asks the user: a word in it leads out of the workspace, or to something that is closed.
fn suspicious(text: &str, context: &GateContext) -> Option<Verdict> {
    let whole = plain(text);
    let words =
        whole.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c)).filter(|word| !word.is_empty());
    for (place, word) in std::iter::once(whole.as_str()).chain(words).enumerate() {
        if place == MAX_WORDS {
            return Some(Verdict::boundary(Reason::Limit, "an argument is too long to look at"));
        }
        let leads_out = leads_out(word);
        match context.resolve(word) {
            Ok(path) if !path.is_root() => {
                if let Some(closed) = files::closed_to_reads(&path, context) {
                    let detail = format!("the call may read it: {}", closed.detail);
                    return Some(Verdict { detail, reason: Reason::SecretPath, ..closed });
                }
            }
            Err(error) if leads_out => return Some(files::outside(&error)),
            _ => {}
        }
        if word.starts_with('~') {
            return Some(files::outside(&PathError::Outside { path: word.to_owned() }));
        }
    }
    None
}

/// Whether a word that is not a path inside the workspace is a path outside of it, and not just a word.
fn leads_out(word: &str) -> bool {
    word.starts_with('/') && 1 < word.len() || word.split('/').any(|name| name == "..")
}
