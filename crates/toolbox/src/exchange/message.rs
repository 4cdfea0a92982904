use std::time::Duration;

use headstart_overlay_fs::{
    Change, ChangeByHash, ChangeKind, ChangeKindByHash, ChangeSet, Content, ContentHash, EntryKind,
    Fingerprint, LeftOut, Torn, Tree, TreeError, WorkspacePath,
};
use serde::{Deserialize, Serialize};

use super::{AcceptRequest, LocalRunRequest, LocalRunResult, TreeEdit};
use crate::{Tier, ViewOutput, ViewRefusals, ViewRequest};

/// The version of the protocol. A new field that an older side may ignore does not change it; anything else does.
pub const VERSION: u32 = 1;

/// The part of the first message of each side that is the same in every version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// `hello`.
    pub r#type: String,
    /// The version that its side uses.
    pub version: u32,
}

/// Messages of the side with the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ClientMessage {
    /// The first message.
    Hello(ClientHello),
    /// Brings the copy of the workspace to this state. The answer is `missing` and, once those contents have arrived,
    /// `ready`; or `unknown` if the copy is not in the state `since`.
    Tree {
        /// Identifies the call in its answers; unique in the connection.
        id: u64,
        /// The state to which the edits apply; without it, an empty folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<ContentHash>,
        /// The state after the edits ([`Manifest::digest`](super::Manifest::digest)).
        digest: ContentHash,
        /// The differences.
        edits: Vec<TreeEdit>,
        /// Whether another message with edits for the same call follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// A piece of a content that is missing for a call.
    Content {
        /// The call.
        id: u64,
        /// The hash of the whole content.
        hash: ContentHash,
        /// The piece.
        bytes: Content,
        /// Whether another piece follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// A content that is missing for a call does not exist any more, so the call is given up.
    Gone {
        /// The call.
        id: u64,
    },
    /// Runs a command in a view. The answer is `missing`, then `content` and `ran`, or `failed`.
    Run(Box<RunRequest>),
    /// Runs a command in a view over the workspace itself, if the other side was started for it. The answer is
    /// `ranLocal` or `failed`.
    RunLocal(Box<LocalRunRequest>),
    /// Asks which files of the workspace itself changed since a moment. The answer is `changed` or `failed`.
    ChangedSince {
        /// The call.
        id: u64,
        /// The moment, in milliseconds since the Unix epoch.
        since_ms: u64,
    },
    /// Makes changes of the workspace itself that an editor cannot make, because its user took them. The answer is
    /// `accepted` or `failed`.
    Accept(Box<AcceptRequest>),
    /// Takes the last accept back, because the editor could not make its own part. The answer is the same.
    TakeBack {
        /// The call.
        id: u64,
        /// The call that made the changes.
        accept: u64,
    },
    /// Builds in advance what all views start with. The answer is `warmed` or `failed`.
    Warm(WarmRequest),
    /// The view is not needed any more. A command in it is ended.
    End {
        /// Its name.
        view: String,
    },
    /// Shows that this side is alive. A side that sends nothing for two minutes is given up.
    Alive,
}

/// Messages of the side with the views.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ServerMessage {
    /// The first message.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// The program, for people.
        program: String,
        /// How views are kept apart there; `None` if there are none.
        tier: Option<Tier>,
        /// Why there are none, or what works less well there than it could.
        notes: Vec<String>,
        /// The state of the copy of the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<ContentHash>,
    },
    /// Contents that a call needs.
    Missing {
        /// The call.
        id: u64,
        /// Their hashes, each once.
        hashes: Vec<ContentHash>,
    },
    /// The copy is not in the state with which a call begins, so the whole state has to be sent.
    Unknown {
        /// The call.
        id: u64,
    },
    /// The copy is in the state that a call asked for.
    Ready {
        /// The call.
        id: u64,
    },
    /// A piece of a content that the answer to a call names.
    Content {
        /// The call.
        id: u64,
        /// The hash of the whole content.
        hash: ContentHash,
        /// The piece.
        bytes: Content,
        /// Whether another piece follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// The result of a command.
    Ran(Box<RunResult>),
    /// The result of a command in a view over the workspace itself.
    RanLocal(Box<LocalRunResult>),
    /// The changes are made, or taken back, unless there are conflicts.
    Accepted {
        /// The call.
        id: u64,
        /// The paths that are not as they have to be. Then nothing was changed.
        conflicts: Vec<WorkspacePath>,
    },
    /// The files that changed since a moment, without those that git ignores.
    Changed {
        /// The call.
        id: u64,
        /// Their paths.
        paths: Vec<WorkspacePath>,
    },
    /// The result of building in advance.
    Warmed(WarmResult),
    /// A call failed.
    Failed {
        /// The call.
        id: u64,
        /// What kind of failure it is.
        failure: Failure,
        /// Why, in words.
        why: String,
    },
    /// Shows that this side is alive, as [`ClientMessage::Alive`].
    Alive,
}

/// Identifies the side with the workspace, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientHello {
    /// [`VERSION`].
    pub version: u32,
    /// The program, for people.
    pub program: String,
    /// A random text that identifies the client and never changes. Together with the path it names the copy.
    pub client: String,
    /// The absolute path of the workspace, at which its copy is in the views.
    pub workspace: String,
    /// The limits of a view. The smaller limit of the two sides counts.
    #[serde(default)]
    pub limits: ViewLimits,
    /// Further folders of build output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<WorkspacePath>,
}

/// Limits of a view. A limit that is absent is for the other side to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewLimits {
    /// Bytes that it may write to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Files that it may write there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Processes at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// A [`ViewRequest`] as a message. It does not name what its rules close, because that was never sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    /// Identifies the call.
    pub id: u64,
    /// The state in which the copy has to be.
    pub tree: ContentHash,
    /// [`ViewRequest::view`].
    pub view: String,
    /// [`ViewRequest::command`].
    pub command: String,
    /// [`ViewRequest::directory`].
    pub directory: WorkspacePath,
    /// [`ViewRequest::below`].
    pub below: Vec<StagedChange>,
    /// [`ViewRequest::staged`].
    pub staged: Vec<StagedChange>,
    /// [`ViewRequest::time_limit`], in milliseconds.
    pub time_ms: u64,
    /// [`ViewRequest::output_limit`].
    pub output_bytes: usize,
}

/// A staged path, and what is there. Contents are sent separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StagedChange {
    /// The path.
    pub path: WorkspacePath,
    /// What is there.
    pub kind: ChangeKindByHash,
    /// The permission bits that the work gave it, if it gave any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// What to build in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarmRequest {
    /// Identifies the call.
    pub id: u64,
    /// The state in which the copy has to be.
    pub tree: ContentHash,
    /// Command lines, for `bash -c`, one after the other.
    pub lines: Vec<String>,
}

/// The result of building in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WarmResult {
    /// The call.
    pub id: u64,
    /// The end of what the commands printed.
    pub output: String,
    /// The exit code of the last command; `None` if a limit or a signal ended it.
    pub exit_code: Option<i32>,
    /// Folders of build output.
    pub folders: Vec<WorkspacePath>,
    /// The bytes that are kept now.
    pub bytes: u64,
    /// Why nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Failure {
    /// There is no view: nothing ran.
    NoView,
    /// The call itself is wrong, and whoever made it can correct it.
    Call,
    /// The command wrote more than a change set may hold.
    Quota,
    /// The copy of the workspace is in another state now.
    TreeChanged,
}

/// A [`ViewOutput`] as a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// The call.
    pub id: u64,
    /// What the command printed.
    pub output: String,
    /// How it ended, as in [`CommandOutput`](crate::CommandOutput).
    pub exit_code: Option<i32>,
    /// Whether its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether output was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// [`ViewOutput::changes`].
    pub changes: Vec<ViewChange>,
    /// [`ViewOutput::git_refused`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_refused: Option<String>,
    /// [`ViewOutput::warm`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm: Vec<WorkspacePath>,
    /// [`ViewOutput::left_out`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// [`ViewOutput::is_new_view`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new_view: bool,
    /// [`ViewOutput::torn`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torn: Option<Torn>,
    /// [`ViewOutput::hard_links`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hard_links: Option<WorkspacePath>,
    /// [`ViewOutput::outside`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// [`ViewOutput::refused`].
    #[serde(default)]
    pub refused: ViewRefusals,
    /// [`ViewOutput::changed_meanwhile`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_meanwhile: Vec<WorkspacePath>,
    /// [`ViewOutput::notes`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// [`ViewCost::time`](crate::ViewCost::time), in microseconds.
    pub time_us: u64,
    /// [`ViewCost::processor`](crate::ViewCost::processor), in microseconds.
    pub processor_us: u64,
    /// [`ViewCost::peak_bytes`](crate::ViewCost::peak_bytes).
    pub peak_bytes: u64,
}

/// A path at which the view differs from the tree below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewChange {
    /// The path.
    pub path: WorkspacePath,
    /// What the command found there; `None` for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseEntry>,
    /// What is there.
    pub kind: ChangeKindByHash,
    /// The permission bits that the work gave it, if it gave any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// What was at a path, so that both sides can check whether they mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaseEntry {
    /// File, folder or link.
    pub kind: EntryKind,
    /// The hash of the content of a file, or of the target of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
    /// Whether the owner may execute the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

impl RunRequest {
    /// A request for this state of the copy.
    pub fn of(id: u64, tree: ContentHash, request: &ViewRequest) -> Self {
        Self {
            id,
            tree,
            view: request.view.as_str().to_owned(),
            command: request.command.clone(),
            directory: request.directory.clone(),
            below: StagedChange::from_changes(&request.below),
            staged: StagedChange::from_changes(&request.staged),
            time_ms: millis(request.time_limit),
            output_bytes: request.output_limit,
        }
    }

    /// The hashes of the contents that it names.
    pub fn hashes(&self) -> impl Iterator<Item = ContentHash> {
        self.below.iter().chain(&self.staged).filter_map(|shown| match &shown.kind {
            ChangeKindByHash::Write { content, .. } => Some(*content),
            _ => None,
        })
    }
}

impl StagedChange {
    /// The changes of a change set, to be shown in a view.
    pub fn from_changes(changes: &ChangeSet) -> Vec<Self> {
        let by_hash = changes.by_hash().changes;
        let staged = |change: ChangeByHash| Self { path: change.path, kind: change.kind, mode: change.mode };
        by_hash.into_iter().map(staged).collect()
    }

    /// The change set, without what was there before, which this side does not know. If `content` lacks a content,
    /// the error is its hash.
    pub fn change_set(
        shown: &[Self],
        mut content: impl FnMut(ContentHash) -> Option<Content>,
    ) -> Result<ChangeSet, ContentHash> {
        let mut changes = Vec::with_capacity(shown.len());
        for Self { path, kind, mode } in shown {
            let kind = change_with_content(kind, &mut content)?;
            changes.push(Change { path: path.clone(), base: None, base_content: None, kind, mode: *mode });
        }
        Ok(ChangeSet { changes, reads: Vec::new() })
    }
}

/// A change set that was shown, together with what `tree`, the one below it, has at its paths.
pub async fn with_base(tree: &dyn Tree, shown: ChangeSet) -> Result<ChangeSet, TreeError> {
    let mut changes = Vec::with_capacity(shown.changes.len());
    for change in shown.changes {
        let (base, base_content) = entry_at(tree, &change.path).await?.unzip();
        changes.push(Change { base, base_content: base_content.flatten(), ..change });
    }
    Ok(ChangeSet { changes, reads: shown.reads })
}

/// What is at a path, and its content or target.
pub(super) async fn entry_at(
    tree: &dyn Tree,
    path: &WorkspacePath,
) -> Result<Option<(Fingerprint, Option<Content>)>, TreeError> {
    let (found, content) = match tree.look(path).await {
        Err(TreeError::NotFound { .. } | TreeError::NotADirectory { .. }) => return Ok(None),
        looked => looked?,
    };
    let content = match found.kind {
        EntryKind::Symlink => Some(Content::from(tree.read_link(path).await?)),
        _ => content.map(Content::from),
    };
    Ok(Some((found.fingerprint, content)))
}

/// A change with its content.
pub(super) fn change_with_content(
    kind: &ChangeKindByHash,
    content: &mut impl FnMut(ContentHash) -> Option<Content>,
) -> Result<ChangeKind, ContentHash> {
    Ok(match kind {
        ChangeKindByHash::Write { content: hash, executable, moved_from } => ChangeKind::Write {
            content: content(*hash).filter(|found| found.hash() == *hash).ok_or(*hash)?,
            executable: *executable,
            moved_from: moved_from.clone(),
        },
        ChangeKindByHash::Link { target, moved_from } => {
            ChangeKind::Link { target: target.clone(), moved_from: moved_from.clone() }
        }
        ChangeKindByHash::CreateDirectory => ChangeKind::CreateDirectory,
        ChangeKindByHash::Delete => ChangeKind::Delete,
    })
}

impl RunResult {
    /// The result of a view as the answer to a call, without changes of a repository, which the side with the views
    /// does not have.
    pub fn of(id: u64, ran: &ViewOutput) -> Self {
        let made = ran.git.as_ref().map(|_| "it makes a repository where the workspace has none".to_owned());
        let by_hash = ran.changes.by_hash().changes;
        let changed = by_hash.into_iter().map(|change| ViewChange {
            base: change.base.as_ref().map(|base| BaseEntry::of(base, change.base_content)),
            path: change.path,
            kind: change.kind,
            mode: change.mode,
        });
        Self {
            id,
            output: ran.output.output.clone(),
            exit_code: ran.output.exit_code,
            timed_out: ran.output.timed_out,
            truncated: ran.output.truncated,
            changes: changed.collect(),
            git_refused: ran.git_refused.clone().or(made),
            warm: ran.warm.clone(),
            left_out: ran.left_out.clone(),
            is_new_view: ran.is_new_view,
            torn: ran.torn.clone(),
            hard_links: ran.hard_links.clone(),
            outside: ran.outside.clone(),
            refused: ran.refused.clone(),
            changed_meanwhile: ran.changed_meanwhile.clone(),
            notes: ran.notes.clone(),
            time_us: micros(ran.cost.time),
            processor_us: micros(ran.cost.processor),
            peak_bytes: ran.cost.peak_bytes,
        }
    }
}

impl BaseEntry {
    /// Describes what a tree has at a path.
    pub fn of(found: &Fingerprint, content: Option<ContentHash>) -> Self {
        Self { kind: found.kind, content, executable: found.is_executable() }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
