//! What git would hand out in a view, where files that hold a secret are hidden and the objects of commits are not.

use headstart_workspace_path::WorkspacePath;

use super::words::Word;
use crate::{EffectKind, GateContext, Reason, Verdict};

/// Commands of git that write or print the files of commits, without one that the gate could look at.
const HAND_OUT: [&str; 9] = [
    "archive",
    "bundle",
    "cat-file",
    "fast-export",
    "format-patch",
    "pack-objects",
    "send-email",
    "upload-archive",
    "upload-pack",
];
/// Options of git itself with a value of their own.
const WITH_VALUE: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// The verdict on a text in which git is told to hand out what may be closed. `starts` are the offsets of the commands
/// that were judged, and whose paths are known.
pub(super) fn hands_out(words: &[Word<'_>], starts: &[usize], context: &GateContext) -> Option<Verdict> {
    let is_git = |word: &Word<'_>| word.text.rsplit('/').next() == Some("git");
    let closes = context.deny.closes_secrets();
    for (at, git) in words.iter().enumerate().filter(|(_, word)| is_git(word)) {
        let mut behind = words[at + 1..].iter();
        let command = loop {
            let Some(word) = behind.next() else { break None };
            if WITH_VALUE.contains(&word.text) {
                behind.next();
            } else if word.text.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                break Some(word);
            }
        };
        if let Some(command) = command.filter(|command| closes && HAND_OUT.contains(&command.text)) {
            let detail = format!(
                "git {} hands out what the commits hold, which may be files that hold a secret",
                command.text
            );
            return Some(boundary(Reason::SecretPath, detail, (git.span.0, command.span.1)));
        }
        if !starts.contains(&git.span.0)
            && let Some(verdict) = words.iter().find_map(|word| named(word, context))
        {
            return Some(verdict);
        }
    }
    None
}

/// The verdict on a word that names what is closed, as git would read it: `HEAD:.env`, `:(top).env`.
fn named(word: &Word<'_>, context: &GateContext) -> Option<Verdict> {
    let parts = word.text.split([':', '=', ',', ')', '[', ']']).filter(|part| !part.is_empty());
    parts.filter_map(|part| WorkspacePath::root().join(part.trim_start_matches('/')).ok()).find_map(|path| {
        if let Some(rule) = context.deny.matching(&path) {
            let detail = format!("the command names what the deny rule {:?} covers", rule.0);
            return Some(boundary(Reason::DeniedPath, detail, word.span));
        }
        let is_secret = context.deny.secret(&path).is_some() || context.deny.wild_secret(&path).is_some();
        let detail = format!("the command has git read {path}, which may hold a secret");
        is_secret.then(|| boundary(Reason::SecretPath, detail, word.span))
    })
}

fn boundary(reason: Reason, detail: String, span: (usize, usize)) -> Verdict {
    let mut verdict = Verdict::boundary(reason, detail.clone()).with_effect(EffectKind::ReadOnly, detail);
    verdict.effects.iter_mut().for_each(|effect| effect.span = Some(span));
    verdict
}
