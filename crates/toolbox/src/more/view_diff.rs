use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{ChangeKind, MemoryTree, Overlay, Quota, Tree, TreeError, WorkspacePath};
use headstart_tool_gate::GateContext;
use headstart_tool_gate::ours;
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::location::locate;
use crate::output::OutputText;
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// The most lines that are shown at once.
const MAX_LINES: usize = 5_000;
/// The most files that are compared.
const MAX_FILES: usize = 500;
/// The most names of untracked files.
const MAX_UNTRACKED: usize = 20;
/// The bytes of the output that are reserved for notes.
const FOR_NOTES: usize = 2 * 1024;

/// The repository of a workspace as it is on disk, without anything that is staged in an overlay.
///
/// An implementation starts no program that the repository names, and of what `rules` close it reads only names.
#[async_trait]
pub trait Repository: Send + Sync {
    /// The files that differ from the last commit, including closed ones; `None` if the workspace is no repository.
    async fn status(&self, rules: &GateContext) -> Result<Option<RepositoryStatus>, ToolError>;

    /// The differences of these files from the last commit, as `git diff` shows them; if `indexed`, as they are in
    /// the index.
    async fn diff(
        &self,
        paths: &[WorkspacePath],
        indexed: bool,
        rules: &GateContext,
    ) -> Result<String, ToolError>;

    /// A file as it is in the last commit.
    async fn committed(&self, path: &WorkspacePath, rules: &GateContext) -> Result<CommittedFile, ToolError>;
}

/// The files that differ from the last commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryStatus {
    /// Files that differ on disk or in the index.
    pub changed: Vec<WorkspacePath>,
    /// Those of them that differ in the index.
    pub indexed: Vec<WorkspacePath>,
    /// Files and folders that git neither tracks nor ignores.
    pub untracked: Vec<WorkspacePath>,
}

/// A file in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommittedFile {
    /// It does not exist.
    Absent,
    /// A text.
    Text(String),
    /// Something else, whose content is not available.
    Binary,
}

/// Shows what differs from the last commit, in the merged view.
pub(super) struct ViewDiff {
    repository: Arc<dyn Repository>,
}

impl ViewDiff {
    pub(super) fn new(repository: Arc<dyn Repository>) -> Self {
        Self { repository }
    }
}

#[async_trait]
impl Tool for ViewDiff {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::VIEW_DIFF.name,
            "Shows how the files of the workspace differ from the last commit, as a diff; untracked files are only named. \
             With staged: how git's index differs from it.",
            &json!({
                "path": {
                    "type": "string",
                    "description": "A file, or a folder with all below it: relative to the workspace, or absolute inside it. Default: the workspace."
                },
                "staged": {
                    "type": "boolean",
                    "description": "What is added to git's index instead of what the files hold. Default: false."
                },
            }),
            &[],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::VIEW_DIFF, args, &["path", "staged"])?;
        let below = locate(arguments.path()?.unwrap_or("."), context).await?;
        let indexed = arguments.flag("staged")?;
        let Some(status) = self.repository.status(context.gate).await? else {
            let message = "the workspace is no git repository, so there is no commit to compare with";
            return Err(ToolError::failed(message));
        };
        let mut notes = DiffNotes::default();
        let mut of_disk = if indexed { status.indexed } else { status.changed };
        let work = if indexed {
            StagedDiff::default()
        } else {
            self.staged_diff(&below, &mut notes, context).await?
        };
        of_disk.retain(|path| path.starts_with(&below) && !work.paths.contains(path));
        notes.leave_out_closed(&mut of_disk, context);
        notes.keep_to_limit(&mut of_disk);
        let mut diff = String::new();
        if !of_disk.is_empty() {
            diff = self.repository.diff(&of_disk, indexed, context.gate).await?;
        }
        diff.push_str(&work.diff);
        if !indexed {
            notes.untracked.extend(status.untracked.into_iter().filter(|path| {
                path.starts_with(&below) && !work.paths.contains(path) && !context.closes(path)
            }));
        }
        Ok(render_diff(&diff, &notes, context))
    }
}

/// What is staged in the overlay.
#[derive(Default)]
struct StagedDiff {
    paths: Vec<WorkspacePath>,
    diff: String,
}

impl ViewDiff {
    /// How the staged files differ from the last commit.
    async fn staged_diff(
        &self,
        below: &WorkspacePath,
        notes: &mut DiffNotes,
        context: ToolContext<'_>,
    ) -> Result<StagedDiff, ToolError> {
        let changes = context.view.staged_changes().changes;
        let is_file = |kind: &ChangeKind| matches!(kind, ChangeKind::Write { .. } | ChangeKind::Delete);
        let staged = changes.into_iter().filter(|change| is_file(&change.kind)).map(|change| change.path);
        let mut open: Vec<_> = staged.filter(|path| path.starts_with(below)).collect();
        let paths = open.clone();
        notes.leave_out_closed(&mut open, context);
        notes.keep_to_limit(&mut open);
        let before = MemoryTree::new();
        let mut after = Vec::new();
        for path in open {
            let now = match context.view.read(&path).await {
                Ok(bytes) => Some(bytes),
                // Nothing is there any more, or a folder has taken its place.
                Err(
                    TreeError::NotFound { .. }
                    | TreeError::NotADirectory { .. }
                    | TreeError::IsADirectory { .. },
                ) => None,
                Err(error) => return Err(error.into()),
            };
            match (self.repository.committed(&path, context.gate).await?, &now) {
                (CommittedFile::Absent, Some(_)) => notes.untracked.push(path),
                (CommittedFile::Absent, None) => {}
                (CommittedFile::Text(text), Some(now)) if text.as_bytes() == now => {}
                (CommittedFile::Text(text), _) => {
                    before.write(&path, text);
                    after.push((path, now));
                }
                (CommittedFile::Binary, _) => notes.binary.push(path),
            }
        }
        let compared = Arc::new(Overlay::new(Arc::new(before), Quota::default()));
        for (path, now) in after {
            match now {
                Some(bytes) => compared.write(&path, bytes).await?,
                None => compared.remove(&path).await?,
            }
        }
        Ok(StagedDiff { paths, diff: compared.change_set().diff() })
    }
}

/// Remarks besides the diff.
#[derive(Default)]
struct DiffNotes {
    untracked: Vec<WorkspacePath>,
    binary: Vec<WorkspacePath>,
    closed: usize,
    left_out: usize,
}

impl DiffNotes {
    fn leave_out_closed(&mut self, paths: &mut Vec<WorkspacePath>, context: ToolContext<'_>) {
        let all = paths.len();
        paths.retain(|path| !context.closes(path));
        self.closed += all - paths.len();
    }

    fn keep_to_limit(&mut self, paths: &mut Vec<WorkspacePath>) {
        self.left_out += paths.len().saturating_sub(MAX_FILES);
        paths.truncate(MAX_FILES);
    }
}

fn render_diff(diff: &str, notes: &DiffNotes, context: ToolContext<'_>) -> ToolOutput {
    let mut output = OutputText::new(context.limits.output_bytes.saturating_sub(FOR_NOTES));
    let all = diff.lines().count();
    let mut count = 0;
    let mut has_places = true;
    for line in diff.lines().take(MAX_LINES) {
        let place = line.strip_prefix("diff --git ").map(path_in_header);
        has_places &= !matches!(place, Some(None));
        let fits = match place.flatten() {
            Some(path) => output.push_at(&path, None, line),
            None => output.push_line(line),
        };
        if !fits {
            break;
        }
        count += 1;
    }
    if all == 0 {
        output.note("nothing that git knows differs from the last commit");
    }
    if count < all {
        output.note(&format!("cut after {count} of {all} lines; name a path to see the rest"));
    }
    if !notes.binary.is_empty() {
        output.note(&format!("binary in the last commit, and changed: {}", list_paths(&notes.binary)));
    }
    if !notes.untracked.is_empty() {
        output.note(&format!("untracked: {}", list_paths(&notes.untracked)));
    }
    if 0 < notes.closed {
        output.note(&format!("{} more differ, which are closed", notes.closed));
    }
    if 0 < notes.left_out {
        output.note(&format!("{} more differ; name a folder to see them", notes.left_out));
    }
    // A name that git shows with escapes cannot be used as a place.
    if has_places { output.finish_items() } else { ToolOutput::Text(output.finish()) }
}

/// The file of `a/src/lib.rs b/src/lib.rs`.
fn path_in_header(names: &str) -> Option<WorkspacePath> {
    let (before, after) = names.strip_prefix("a/")?.split_at_checked(names.len().checked_sub(5)? / 2)?;
    let is_one = after.strip_prefix(" b/") == Some(before);
    is_one.then(|| WorkspacePath::parse(before).ok()).flatten()
}

fn list_paths(paths: &[WorkspacePath]) -> String {
    let mut names: Vec<_> = paths.iter().map(ToString::to_string).collect();
    names.sort();
    let more = names.len().saturating_sub(MAX_UNTRACKED);
    names.truncate(MAX_UNTRACKED);
    let more = if 0 < more { format!(" and {more} more") } else { String::new() };
    crate::output::truncate_str(&names.join(", "), FOR_NOTES / 4).to_owned() + &more
}
