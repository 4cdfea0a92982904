use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use headstart_overlay_fs::{
    Change, ChangeKind, ChangeSet, CommitOptions, CommitOutcome, ContentHash, EntryKind, TreeError,
    Workspace, WorkspacePath, WorkspaceWrapper, commit_inner,
};
use serde::Serialize;

/// How many files are followed; changes of other files are committed, but not followed.
const MAX_FILES: usize = 1_000;
/// How many commits of one file are remembered; the oldest are forgotten.
const MAX_COMMITS: usize = 16;
/// How many files a note names.
const MAX_NAMED: usize = 20;

/// A workspace that recognizes what was committed through it, so that the model can be told what its user has undone.
///
/// A conversation contains what the model wrote. A user may take that back outside the conversation: in an editor, with
/// git, or with an undo of the host. The next answer would then assume files that are not there. A host gives an engine
/// this in place of its workspace, one for each conversation, and asks for [`undo_report`](Self::undo_report) before every
/// prompt. Their [`note`](UndoReport::note) goes before the user's words, in the same message: history is never
/// changed, so the provider's prefix cache stays valid. Work that ran ahead of the prompt without that knowledge is
/// dropped. When prompt and answer are part of the conversation, [`acknowledge`](Self::acknowledge) notes what the
/// model knows by then; what was undone and redone before that is no news.
///
/// # Limitations
///
/// Only contents are compared, without their line endings, because an editor may change those. If a file has neither
/// the content from before a commit nor the content from after it, it is the user's own text and no news: the model
/// sees it when it reads the file. Links and folders are not followed.
pub struct UndoWatch {
    workspace: Arc<dyn Workspace>,
    /// Sorted by path.
    files: Mutex<Vec<(WorkspacePath, Commits)>>,
    /// The turn in which the next commits are made.
    turn: Mutex<Option<ContentHash>>,
}

/// The hash by which the content of a file is recognized; `None` if there is no file.
type Checksum = Option<ContentHash>;

/// The commits of one file that still count. Commits that were undone before others were made do not.
#[derive(Default)]
struct Commits {
    /// The content before and after each commit, oldest first.
    checksums: Vec<(Checksum, Checksum)>,
    /// How many of them are made, as far as the model knows.
    acknowledged: usize,
    /// How many were ever made.
    version: u64,
}

/// What a user has undone, or made again, since the model was told last.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoReport {
    /// Files that are again as they were before a commit, by path.
    pub undone: Vec<RestoredFile>,
    /// Files that are again as they were after a commit, of which the model was told before that it was undone.
    pub redone: Vec<RestoredFile>,
}

/// A file that has an earlier content again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoredFile {
    /// Its path.
    pub path: WorkspacePath,
    /// Whether there is a file now.
    pub exists: bool,
    /// How many of its commits are made now.
    #[serde(skip)]
    commits: usize,
    /// How many of its commits were ever made, as of this look.
    #[serde(skip)]
    version: u64,
}

impl UndoWatch {
    /// Watches this workspace; nothing is committed yet.
    pub fn new(workspace: Arc<dyn Workspace>) -> Self {
        Self { workspace, files: Mutex::default(), turn: Mutex::default() }
    }

    /// What was undone or redone since the model was told last. A file that cannot be read is no news.
    pub async fn undo_report(&self) -> UndoReport {
        let paths: Vec<_> = self.files().iter().map(|(path, _)| path.clone()).collect();
        let mut report = UndoReport::default();
        for path in paths {
            let Ok(now) = self.checksum_at(&path).await else { continue };
            let files = self.files();
            let Ok(index) = find_file(&files, &path) else { continue };
            let file = &files[index].1;
            let Some(commits) = file.commits_made(now) else { continue };
            let (acknowledged, version) = (file.acknowledged, file.version);
            let restored = RestoredFile { path, exists: now.is_some(), commits, version };
            match commits.cmp(&acknowledged) {
                Ordering::Less => report.undone.push(restored),
                Ordering::Greater => report.redone.push(restored),
                Ordering::Equal => {}
            }
        }
        report
    }

    /// Notes that the model knows these news, because they are in the conversation. Files that were committed after the
    /// news were collected stay as the model made them.
    pub fn acknowledge(&self, report: &UndoReport) {
        let mut files = self.files();
        for RestoredFile { path, commits, version, .. } in report.undone.iter().chain(&report.redone) {
            let Ok(index) = find_file(&files, path) else { continue };
            let file = &mut files[index].1;
            if file.version == *version {
                file.acknowledged = (*commits).min(file.checksums.len());
            }
        }
    }

    /// Begins a turn: what is committed from now on belongs to it ([`CommitOptions::turn`]).
    pub fn begin_turn(&self, turn: ContentHash) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Some(turn);
    }

    /// Forgets the contents of files, when the conversation that knows them is forgotten.
    pub fn forget_all(&self) {
        self.files().clear();
    }

    fn files(&self) -> MutexGuard<'_, Vec<(WorkspacePath, Commits)>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash of the file at a path; an error if it is not a regular file.
    async fn checksum_at(&self, path: &WorkspacePath) -> Result<Checksum, TreeError> {
        match self.workspace.look(path).await {
            Ok((_, Some(content))) => Ok(Some(checksum(&content))),
            Ok(_) => Err(TreeError::IsADirectory { path: path.clone() }),
            Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The content of the file of a change right before the commit. For a file that is merged, this is not the content
    /// on which the work is based.
    async fn content_before(&self, change: &Change) -> Option<Checksum> {
        let base = match (&change.kind, &change.base) {
            (ChangeKind::Write { .. }, None) => return Some(None),
            (ChangeKind::Write { .. } | ChangeKind::Delete, Some(base)) if base.kind == EntryKind::File => {
                base
            }
            _ => return None,
        };
        let now = self.workspace.metadata(&change.path).await.ok()?;
        match &change.base_content {
            Some(content) if base.proves_unchanged(&now.fingerprint) => Some(Some(checksum(content))),
            _ => self.checksum_at(&change.path).await.ok(),
        }
    }

    async fn note_commit(&self, change: &Change, before: Checksum, is_merged: bool) {
        let after = match &change.kind {
            _ if is_merged => match self.checksum_at(&change.path).await {
                Ok(after) => after,
                Err(_) => return,
            },
            ChangeKind::Write { content, .. } => Some(checksum(content)),
            _ => None,
        };
        let mut files = self.files();
        let index = match find_file(&files, &change.path) {
            _ if before == after => return,
            Ok(index) => index,
            Err(_) if MAX_FILES <= files.len() => return,
            Err(index) => {
                files.insert(index, (change.path.clone(), Commits::default()));
                index
            }
        };
        files[index].1.add(before, after);
    }
}

/// The place of the file in the list, or the place where it would be.
fn find_file(files: &[(WorkspacePath, Commits)], path: &WorkspacePath) -> Result<usize, usize> {
    files.binary_search_by(|(other, _)| other.cmp(path))
}

impl Commits {
    fn add(&mut self, before: Checksum, after: Checksum) {
        // Commits that were undone before are not part of the way to this content.
        let made = self.commits_made(before).unwrap_or(self.checksums.len());
        self.checksums.truncate(made);
        if self.checksums.len() == MAX_COMMITS {
            self.checksums.remove(0);
        }
        self.checksums.push((before, after));
        self.acknowledged = self.checksums.len();
        self.version += 1;
    }

    /// How many commits are made if the file has this content: as many as the model knows of if that fits, otherwise as
    /// many as possible.
    fn commits_made(&self, now: Checksum) -> Option<usize> {
        let is_at = |made: &usize| {
            let after = made.checked_sub(1).and_then(|last| self.checksums.get(last));
            after.is_some_and(|(_, after)| *after == now)
                || self.checksums.get(*made).is_some_and(|(before, _)| *before == now)
        };
        Some(self.acknowledged).filter(is_at).or_else(|| (0..=self.checksums.len()).rev().find(is_at))
    }
}

/// The hash of a text. Line endings are left out, because they do not make two texts different.
fn checksum(content: &[u8]) -> ContentHash {
    if !content.contains(&b'\r') {
        return ContentHash::of(content);
    }
    let mut plain = Vec::with_capacity(content.len());
    let mut bytes = content.iter().peekable();
    while let Some(byte) = bytes.next() {
        if *byte == b'\r' {
            bytes.next_if(|next| **next == b'\n');
        }
        plain.push(if *byte == b'\r' { b'\n' } else { *byte });
    }
    ContentHash::of(&plain)
}

impl UndoReport {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.undone.is_empty() && self.redone.is_empty()
    }

    /// The prompt as it is sent: after what the model has to know first.
    pub fn prepend_to(&self, prompt: &str) -> String {
        let note = self.note();
        if note.is_empty() { prompt.to_owned() } else { format!("{note}\n\n{prompt}") }
    }

    /// What the model has to know, as a note in front of a prompt; empty if there are no news.
    pub fn note(&self) -> String {
        let text = self.text();
        if text.is_empty() { text } else { format!("[Note: {text}]") }
    }

    /// The words of the [`note`](Self::note) without its brackets.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.undone.is_empty() {
            text.push_str(
                "the user has undone changes that you made. These files are as they were before them:",
            );
            list(&mut text, &self.undone);
        }
        if !self.redone.is_empty() {
            text.push_str(if text.is_empty() { "t" } else { "\nT" });
            text.push_str(
                "he user has made changes of yours again that were undone. These files hold them now:",
            );
            list(&mut text, &self.redone);
        }
        text
    }

    /// One line that shows the user what the model is told; empty if there are no news.
    pub fn user_message(&self) -> String {
        let mut line = String::new();
        let kinds = [
            ("you have undone its changes of ", &self.undone),
            ("you have redone its changes of ", &self.redone),
        ];
        for (what, files) in kinds.into_iter().filter(|(_, files)| !files.is_empty()) {
            line.push_str(if line.is_empty() { "The model is told that " } else { ", and " });
            line.push_str(what);
            for (number, RestoredFile { path, .. }) in files.iter().take(MAX_NAMED).enumerate() {
                let _ = write!(line, "{}{path}", if number == 0 { "" } else { ", " });
            }
            if MAX_NAMED < files.len() {
                let _ = write!(line, ", {} more", files.len() - MAX_NAMED);
            }
        }
        if !line.is_empty() {
            line.push('.');
        }
        line
    }
}

fn list(note: &mut String, files: &[RestoredFile]) {
    for RestoredFile { path, exists, .. } in files.iter().take(MAX_NAMED) {
        let gone = if *exists { "" } else { " (there is no such file now)" };
        let _ = write!(note, "\n- {path}{gone}");
    }
    if MAX_NAMED < files.len() {
        let _ = write!(note, "\n- and {} more", files.len() - MAX_NAMED);
    }
}

#[async_trait]
impl WorkspaceWrapper for UndoWatch {
    fn inner(&self) -> &dyn Workspace {
        &*self.workspace
    }

    async fn commit_wrapped(
        &self,
        changes: &ChangeSet,
        beside: Option<&str>,
        options: CommitOptions,
    ) -> Result<CommitOutcome, TreeError> {
        let mut before = Vec::with_capacity(changes.changes.len());
        for change in &changes.changes {
            before.push(self.content_before(change).await);
        }
        let turn = *self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let options = CommitOptions { turn, ..options };
        let outcome = commit_inner(&*self.workspace, changes, beside, options).await?;
        if let CommitOutcome::Committed(committed) = &outcome {
            for (change, before) in changes.changes.iter().zip(before) {
                let Some(before) = before else { continue };
                self.note_commit(change, before, committed.merged.contains(&change.path)).await;
            }
        }
        Ok(outcome)
    }
}
