use std::fmt::Write as _;
use std::sync::Arc;

use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::GateContext;

use super::{Mention, MentionError, MentionSource, Read, mentions};
use crate::clean::{clean_line, head};
use crate::rules::{ProjectRules, Reader, without_fences};

/// A longer file is not read for a mention, in bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// So many entries of a folder are listed.
const MOST_ENTRIES: usize = 200;
/// What is left of each, however little room there is.
const LEAST_BYTES: usize = 256;

/// What the model reads of the mentions of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolved {
    /// In fences that name where it is from; `None` where nothing is mentioned.
    pub text: Option<String>,
    /// The files that were read for it.
    pub read: Vec<WorkspacePath>,
}

/// One mention, told.
struct Told {
    /// The attributes of its fence.
    from: String,
    text: String,
}

/// Tells what a prompt mentions, as `tree` shows it and as far as `gate` leaves it open: files whole or the lines that are named, folders as a list.
///
/// Together it has at most `room` bytes; the largest is cut first and says so. A mention of which there is nothing to tell is an error, and the
/// prompt is not to be sent.
pub async fn resolve_mentions(
    prompt: &str,
    tree: &Arc<dyn Tree>,
    gate: &GateContext,
    source: &dyn MentionSource,
    room: usize,
) -> Result<Resolved, MentionError> {
    let reader = Reader::new(tree, gate);
    let mut read = Read::new();
    let mut told = Vec::new();
    for mention in mentions(prompt) {
        let found = match &mention {
            Mention::Path { path, lines, is_sure } => {
                path_told(path, *lines, *is_sure, &reader, gate, &mut read).await
            }
            Mention::Outside(what) => {
                let from = format!("from=\"{}\"", what.name());
                source.tell(*what, prompt).await.map(|text| Some(Told { from, text }))
            }
            Mention::Rule(name) => rule_told(name, tree, gate).await.map(Some),
        };
        match found {
            Ok(found) => told.extend(found),
            Err(problem) => return Err(MentionError { mention: mention.words(), problem }),
        }
    }
    let text = (!told.is_empty()).then(|| rendered(&told, room));
    Ok(Resolved { text, read })
}

async fn path_told(
    written: &str,
    lines: Option<(usize, usize)>,
    is_sure: bool,
    reader: &Reader<'_>,
    gate: &GateContext,
    read: &mut Read,
) -> Result<Option<Told>, String> {
    let missing = |problem: &str| if is_sure { Err(problem.to_owned()) } else { Ok(None) };
    let Ok(path) = WorkspacePath::resolve(written, &gate.workspace) else {
        return missing("is no path in the project");
    };
    if gate.denies(&path) {
        return Err("is closed: a deny rule covers it, or it holds a secret by its name".to_owned());
    }
    match reader.find(&path).await? {
        None => missing("there is no such file"),
        Some((place, EntryKind::Directory, _)) => {
            let text = reader.listed(&place, MOST_ENTRIES).await?;
            Ok(Some(Told { from: format!("folder=\"{}\"", name_of(&path)), text }))
        }
        Some((place, EntryKind::File, len)) => {
            if MOST_BYTES < len {
                return Err(format!("has {len} bytes, and at most {MOST_BYTES} are read for a mention"));
            }
            let text = reader.text_of(&place).await?;
            let (text, numbers) = part(text, lines)?;
            read.push(place);
            Ok(Some(Told { from: format!("file=\"{}\"{numbers}", name_of(&path)), text }))
        }
        Some(_) => Err("is no regular file".to_owned()),
    }
}

/// The lines of a text that are wanted, and how its fence names them.
fn part(text: String, lines: Option<(usize, usize)>) -> Result<(String, String), String> {
    let Some((first, last)) = lines else { return Ok((text, String::new())) };
    let count = text.lines().count();
    if first == 0 || last < first || count < first {
        return Err(format!("has {count} lines; name them as FIRST-LAST, counted from 1"));
    }
    let last = last.min(count);
    let wanted: Vec<_> = text.lines().skip(first - 1).take(last - first + 1).collect();
    Ok((wanted.join("\n"), format!(" lines=\"{first}-{last}\"")))
}

async fn rule_told(name: &str, tree: &Arc<dyn Tree>, gate: &GateContext) -> Result<Told, String> {
    let rules = ProjectRules::read(tree, gate).await;
    let rule = rules.named(name)?;
    Ok(Told { from: format!("rule=\"{}\"", name_of(&rule.path)), text: rule.text.clone() })
}

fn name_of(path: &WorkspacePath) -> String {
    clean_line(&path.to_string(), 4_096).replace('"', "'").replace(['<', '>'], "_")
}

fn rendered(told: &[Told], room: usize) -> String {
    let most = most_of_each(told, room);
    let mut text = "What is named with an @:\n".to_owned();
    for Told { from, text: whole } in told {
        // What is mentioned can neither end its fence nor pass for a rule of the project.
        let safe = without_fences(whole).replace("</mentioned", "<\\/mentioned");
        let shown = head(&safe, most);
        let _ = writeln!(text, "<mentioned {from}>\n{}", shown.trim_end_matches('\n'));
        if shown.len() < safe.len() {
            let _ = writeln!(
                text,
                "[cut: these are the first {} of {} bytes; read the rest where you need it]",
                shown.len(),
                safe.len()
            );
        }
        text.push_str("</mentioned>\n");
    }
    text.truncate(text.trim_end().len());
    text
}

/// How much is shown of each so that all have room: what is shorter stays whole.
fn most_of_each(told: &[Told], room: usize) -> usize {
    let mut lengths: Vec<_> = told.iter().map(|told| told.text.len()).collect();
    lengths.sort_unstable();
    let mut left = room;
    for (place, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - place);
        if share < *length {
            return share.max(LEAST_BYTES);
        }
        left -= length;
    }
    usize::MAX
}
