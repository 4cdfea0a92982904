//! Checks what comes back from another machine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeKindByHash, ChangeSet, Content, ContentHash, EntryKind, IgnoreRules, LeftOut,
    Observation, Quota, Torn, Tree, TreeError, WorkspacePath, carried_bits,
};

use super::message::{change_with_content, entry_at};
use super::{BaseEntry, ContentAssembler, RunResult, ViewChange};
use crate::{CommandOutput, SecretAccess, ViewCost, ViewOutput, ViewRefusals, ViewRequest};

/// The most paths or remarks of one kind.
const MAX_LISTED: usize = 100;
/// The most characters of one of these.
const MAX_CHARS: usize = 500;

/// Why an answer is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// It contains something that no correct answer contains.
    #[error("{0}")]
    Invalid(String),
    /// More has changed than may be staged.
    #[error("{0}")]
    Quota(TreeError),
    /// The workspace on this side cannot be read.
    #[error("{0}")]
    Tree(TreeError),
}

/// An answer while it is received.
#[derive(Debug)]
pub struct AnswerReceiver {
    quota: Quota,
    pieces: ContentAssembler,
}

impl AnswerReceiver {
    /// An answer that may stage this much.
    pub fn new(quota: Quota) -> Self {
        Self { quota, pieces: ContentAssembler::at_most(quota.bytes) }
    }

    /// Adds a piece of a content. The error says why it cannot be right.
    pub fn push_content(&mut self, hash: ContentHash, piece: &[u8], more: bool) -> Result<(), String> {
        self.pieces.push(hash, piece, more)
    }

    /// The complete answer to this request, once all its contents have come. Its changes are based on what the
    /// workspace of this side holds.
    ///
    /// A path that git ignores here is not staged, unless it was before, and a folder that holds such a path stays. A
    /// path at which this side has something other than the command found is reported as [changed
    /// meanwhile](ViewOutput::changed_meanwhile).
    pub async fn into_output(
        mut self,
        ran: RunResult,
        request: &ViewRequest,
    ) -> Result<ViewOutput, AnswerError> {
        let staged: BTreeMap<ContentHash, Content> =
            request.staged.changes.iter().filter_map(content_of).collect();
        let came = self.pieces.take();
        let mut content = |hash: ContentHash| came.get(&hash).or_else(|| staged.get(&hash)).cloned();
        self.check(&ran.changes)?;
        let mut builder = OutputBuilder::new(request, &ran);
        for ViewChange { path, base, kind, mode } in &ran.changes {
            let missing = |hash| AnswerError::Invalid(format!("the content of {path} ({hash}) did not come"));
            let kind = change_with_content(kind, &mut content).map_err(missing)?;
            if let ChangeKind::Write { content, .. } = &kind
                && self.quota.file_bytes < content.len() as u64
            {
                let (limit, unit) = (self.quota.file_bytes, "bytes in one file");
                return Err(AnswerError::Quota(TreeError::Quota { path: path.clone(), limit, unit }));
            }
            builder.change(path, base.as_ref(), (kind, *mode)).await.map_err(AnswerError::Tree)?;
        }
        builder.keep_folders().await.map_err(AnswerError::Tree)?;
        Ok(builder.finish(ran))
    }

    fn check(&self, changes: &[ViewChange]) -> Result<(), AnswerError> {
        let wrong = |why: String| Err(AnswerError::Invalid(why));
        let mut seen = BTreeSet::new();
        for ViewChange { path, kind, .. } in changes {
            if path.is_root() {
                return wrong("it changes the workspace itself".to_owned());
            }
            if path.names().any(|name| name.eq_ignore_ascii_case(b".git")) {
                return wrong(format!("it changes {path}, which is git's own"));
            }
            if !seen.insert(path) {
                return wrong(format!("it changes {path} twice"));
            }
            let depth = path.names().count();
            if let ChangeKindByHash::Link { target, .. } = kind
                && leads_out(target, depth - 1)
            {
                return wrong(format!("it makes {path} a link that leads out of the workspace"));
            }
            let rows = [
                (self.quota.depth, depth as u64, "names in a path"),
                (self.quota.files, seen.len() as u64, "files"),
            ];
            if let Some((limit, _, unit)) = rows.into_iter().find(|(limit, now, _)| limit < now) {
                return Err(AnswerError::Quota(TreeError::Quota { path: path.clone(), limit, unit }));
            }
        }
        Ok(())
    }
}

fn content_of(change: &Change) -> Option<(ContentHash, Content)> {
    match &change.kind {
        ChangeKind::Write { content, .. } => Some((content.hash(), content.clone())),
        _ => None,
    }
}

/// Whether a link leads out of the workspace, or steps up from a name, which may be a link itself.
fn leads_out(target: &[u8], folders_above: usize) -> bool {
    let mut names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let ups = names.by_ref().take_while(|name| *name == b"..").count();
    // The search for the first name behind the leading `..` has consumed that name, which cannot be `..`.
    let steps_up_later = names.any(|name| name == b"..");
    target.is_empty()
        || target.contains(&0)
        || target.starts_with(b"/")
        || folders_above < ups
        || steps_up_later
}

struct OutputBuilder<'a> {
    request: &'a ViewRequest,
    base: &'a dyn Tree,
    /// What was staged before the command.
    staged: BTreeMap<&'a WorkspacePath, &'a ChangeKind>,
    ignored: IgnoreLookup<'a>,
    changes: BTreeMap<WorkspacePath, Change>,
    warm: BTreeSet<WorkspacePath>,
    /// Ignored paths that were brought, and are not staged.
    not_brought: BTreeSet<WorkspacePath>,
    changed_meanwhile: BTreeSet<WorkspacePath>,
    /// Folders that are removed, with their names on this side.
    listed: BTreeMap<WorkspacePath, Vec<Vec<u8>>>,
}

impl<'a> OutputBuilder<'a> {
    fn new(request: &'a ViewRequest, ran: &RunResult) -> Self {
        let staged = request.staged.changes.iter().map(|change| (&change.path, &change.kind)).collect();
        Self {
            request,
            base: &*request.base,
            staged,
            ignored: IgnoreLookup { base: &*request.base, staged: &request.staged, rules: BTreeMap::new() },
            changes: BTreeMap::new(),
            warm: ran.warm.iter().take(MAX_LISTED).cloned().collect(),
            not_brought: BTreeSet::new(),
            changed_meanwhile: ran.changed_meanwhile.iter().take(MAX_LISTED).cloned().collect(),
            listed: BTreeMap::new(),
        }
    }

    async fn change(
        &mut self,
        path: &WorkspacePath,
        seen: Option<&BaseEntry>,
        (kind, mode): (ChangeKind, Option<u32>),
    ) -> Result<(), TreeError> {
        let is_folder =
            kind == ChangeKind::CreateDirectory || seen.is_some_and(|seen| seen.kind == EntryKind::Directory);
        let was_staged = self.staged.keys().any(|staged| staged.starts_with(path));
        if !was_staged && let Some(ignored) = self.ignored.uppermost(path, is_folder).await {
            // The other side brings such a file only if it may be the only copy of something.
            if !matches!(kind, ChangeKind::Delete | ChangeKind::CreateDirectory) {
                self.not_brought.insert(ignored.clone());
            }
            self.warm.insert(ignored);
            return Ok(());
        }
        let ViewRequest { deny, secrets, .. } = self.request;
        if deny.matching(path).is_some() || *secrets == SecretAccess::Closed && deny.secret(path).is_some() {
            // The other side never had what is there. Whoever stages this checks the rules first.
            self.changes.insert(
                path.clone(),
                Change { path: path.clone(), base: None, base_content: None, kind, mode },
            );
            return Ok(());
        }
        let (base, base_content) = entry_at(self.base, path).await?.unzip();
        let base_content = base_content.flatten();
        let here = base.as_ref().map(|base| BaseEntry::of(base, base_content.as_ref().map(Content::hash)));
        let is_gone_already = kind == ChangeKind::Delete && here.is_none();
        if here.as_ref() != seen || is_gone_already {
            self.changed_meanwhile.insert(path.clone());
            return Ok(());
        }
        // The other side has a copy, with the bits of any file or program, and only what a command changed counts.
        let mode = mode.map(|mode| match base.as_ref().filter(|base| base.kind == EntryKind::File) {
            Some(base) if self.staged_mode(path) != Some(mode) => {
                carried_bits(if base.is_executable() { 0o755 } else { 0o644 }, mode, base.mode)
            }
            _ => mode & 0o3777,
        });
        self.changes.insert(path.clone(), Change { path: path.clone(), base, base_content, kind, mode });
        Ok(())
    }

    /// The permission bits that were given to what is staged at a path.
    fn staged_mode(&self, path: &WorkspacePath) -> Option<u32> {
        self.request.staged.changes.iter().find(|change| change.path == *path)?.mode
    }

    /// Keeps a removed folder if this side has something in it that the other one never had.
    async fn keep_folders(&mut self) -> Result<(), TreeError> {
        let is_folder = |change: &Change| {
            change.kind != ChangeKind::CreateDirectory
                && ChangeSet::base_kind(change) == Some(EntryKind::Directory)
        };
        let mut folders: Vec<_> = self
            .changes
            .values()
            .filter(|change| is_folder(change))
            .map(|change| change.path.clone())
            .collect();
        folders.reverse();
        for folder in folders {
            let mut names = Vec::new();
            let mut stays = false;
            for entry in self.base.list(&folder).await? {
                let Ok(path) = folder.join_bytes(&entry.name) else { continue };
                let is_removed =
                    self.changes.get(&path).is_some_and(|change| change.kind == ChangeKind::Delete);
                if !is_removed {
                    stays = true;
                    let is_folder = entry.kind == EntryKind::Directory;
                    let is_kept = self.warm.iter().any(|kept| kept.starts_with(&path));
                    if !is_kept && self.ignored.uppermost(&path, is_folder).await.is_none() {
                        self.changed_meanwhile.insert(path);
                    }
                }
                names.push(entry.name);
            }
            if !stays {
                self.listed.insert(folder, names);
            } else if self.changes.remove(&folder).is_some_and(|change| change.kind != ChangeKind::Delete) {
                // A file cannot take the place of a folder that stays.
                self.changed_meanwhile.insert(folder);
            } else {
                self.warm.insert(folder);
            }
        }
        Ok(())
    }

    /// What would be gone if what is here were staged without the files that were brought.
    fn torn(&self) -> Option<Torn> {
        let replaced = self.changes.values().filter(|change| change.base_content.is_some());
        let removed: Vec<_> = replaced.map(|change| change.path.clone()).collect();
        let written: Vec<_> = self.not_brought.iter().map(ToString::to_string).collect();
        (!written.is_empty() && !removed.is_empty()).then_some(Torn { removed, written })
    }

    fn finish(self, ran: RunResult) -> ViewOutput {
        let torn = ran.torn.as_ref().map(clean_torn).or_else(|| self.torn());
        let Self { changes, warm, changed_meanwhile, listed, .. } = self;
        let reads = listed.into_iter().filter_map(|(path, names)| {
            let seen = changes.get(&path)?.base.clone();
            Some(Observation { path, seen, content: None, names: Some(names) })
        });
        let reads = reads.collect();
        let (mut removals, rest): (Vec<_>, Vec<_>) =
            changes.into_values().partition(|change| change.kind == ChangeKind::Delete);
        removals.reverse();
        removals.extend(rest);
        let output = CommandOutput {
            output: ran.output,
            exit_code: ran.exit_code,
            timed_out: ran.timed_out,
            truncated: ran.truncated,
        };
        let refused = ViewRefusals { quota: ran.refused.quota.as_deref().map(clean_line), ..ran.refused };
        ViewOutput {
            git_refused: ran.git_refused.as_deref().map(clean_line),
            left_out: ran
                .left_out
                .into_iter()
                .take(MAX_LISTED)
                .map(|row| LeftOut { path: clean_line(&row.path), ..row })
                .collect(),
            torn,
            hard_links: ran.hard_links,
            is_new_view: ran.is_new_view,
            warm: warm.into_iter().collect(),
            outside: ran.outside.iter().take(MAX_LISTED).map(|path| clean_line(path)).collect(),
            refused,
            changed_meanwhile: changed_meanwhile.into_iter().collect(),
            notes: ran.notes.iter().take(MAX_LISTED).map(|note| clean_line(note)).collect(),
            cost: ViewCost {
                time: Duration::from_micros(ran.time_us),
                processor: Duration::from_micros(ran.processor_us),
                peak_bytes: ran.peak_bytes,
            },
            ..ViewOutput::of(output, ChangeSet { changes: removals, reads })
        }
    }
}

fn clean_torn(torn: &Torn) -> Torn {
    Torn {
        removed: torn.removed.iter().take(MAX_LISTED).cloned().collect(),
        written: torn.written.iter().take(MAX_LISTED).map(|place| clean_line(place)).collect(),
    }
}

/// A remark as one line of printable characters.
fn clean_line(text: &str) -> String {
    let plain = |sign: char| if sign.is_control() { ' ' } else { sign };
    text.chars().take(MAX_CHARS).map(plain).collect()
}

/// Which paths git ignores in the workspace of this side, including what is staged in it.
struct IgnoreLookup<'a> {
    base: &'a dyn Tree,
    staged: &'a ChangeSet,
    rules: BTreeMap<WorkspacePath, IgnoreRules>,
}

impl IgnoreLookup<'_> {
    /// The topmost ignored one of a path and the folders above it.
    async fn uppermost(&mut self, path: &WorkspacePath, is_folder: bool) -> Option<WorkspacePath> {
        let mut at = WorkspacePath::root();
        for name in path.names() {
            let rules = self.rules_in(&at).await;
            at = at.join_bytes(name).ok()?;
            let kind = if at != *path || is_folder { EntryKind::Directory } else { EntryKind::File };
            if rules.ignores(&at, kind) {
                return Some(at);
            }
        }
        None
    }

    /// The rules in a folder. Those of the folders above it were read before.
    async fn rules_in(&mut self, folder: &WorkspacePath) -> IgnoreRules {
        if let Some(known) = self.rules.get(folder) {
            return known.clone();
        }
        let above = folder.parent().and_then(|above| self.rules.get(&above)).cloned().unwrap_or_default();
        let rules = match self.text(folder).await {
            Some(text) => above.with(folder, &String::from_utf8_lossy(&text)),
            None => above,
        };
        self.rules.insert(folder.clone(), rules.clone());
        rules
    }

    async fn text(&self, folder: &WorkspacePath) -> Option<Vec<u8>> {
        let file = folder.join(".gitignore").ok()?;
        match self.staged.changes.iter().find(|change| change.path == file).map(|change| &change.kind) {
            Some(ChangeKind::Write { content, .. }) => Some(content.to_vec()),
            Some(_) => None,
            None => match self.base.look(&file).await.ok()? {
                (found, content) if found.kind == EntryKind::File => content,
                _ => None,
            },
        }
    }
}
