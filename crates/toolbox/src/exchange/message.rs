use std::time::Duration;

use headstart_overlay_fs::{
    Change, ChangeKind, ChangeKindByHash, ChangeSet, Content, ContentHash, EntryKind, Fingerprint, Tree,
    TreeError, WorkspacePath,
};
use serde::{Deserialize, Serialize};

use super::TreeEdit;
use crate::{Refused, Tier, ViewOutput, ViewRequest};

/// The version of the exchange. A field that an older side may overlook does not change it, all else does.
pub const VERSION: u32 = 1;

/// The first message of each side, as far as it is the same in every version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// `hello`.
    pub r#type: String,
    /// The version that its side speaks.
    pub version: u32,
}

/// What the side with the workspace says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Ask {
    /// The first message.
    Hello(Hello),
    /// Brings the copy of the workspace to this state. Answered by `missing`, and, when all of that arrived, by `ready`; by `unknown` where
    /// the copy is not in the state `since`.
    Tree {
        /// Names the call in its answers; no other call of the connection has it.
        id: u64,
        /// The state that the edits begin with; without it with an empty folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<ContentHash>,
        /// The state they lead to ([`Manifest::digest`](super::Manifest::digest)).
        digest: ContentHash,
        /// What differs.
        edits: Vec<TreeEdit>,
        /// Whether another message with edits of the same call follows.
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
        /// Whether there is another piece.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// A content that is missing for a call is not there any more: the call is given up.
    Gone {
        /// The call.
        id: u64,
    },
    /// Runs a command in a view. Answered by `missing`, then by `content` and `ran`, or by `failed`.
    Run(Box<Run>),
    /// Builds ahead what all views begin with. Answered by `warmed` or by `failed`.
    Warm(Warm),
    /// The view is not needed any more; a command in it ends.
    End {
        /// Its name.
        view: String,
    },
    /// Says that this side is there. A side of which nothing was heard for two minutes is given up.
    Alive,
}

/// What the side with the views says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Told {
    /// The first message.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// The program, for people.
        program: String,
        /// What keeps views apart there; `None`: there are none.
        tier: Option<Tier>,
        /// Why there are none, or what is worse there than it could be.
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
    /// The copy is not in the state that a call begins with: it has to be told as a whole.
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
        /// Whether there is another piece.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
    },
    /// What came of a command.
    Ran(Box<Ran>),
    /// What came of building ahead.
    Warmed(Warmed),
    /// A call came to nothing.
    Failed {
        /// The call.
        id: u64,
        /// What kind of failure it is.
        failure: Failure,
        /// Why, in words.
        why: String,
    },
    /// Says that this side is there, as [`Ask::Alive`].
    Alive,
}

/// Who asks, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The program, for people.
    pub program: String,
    /// Tells apart those who ask: a random text that stays the same. Together with the path it names the copy.
    pub client: String,
    /// The absolute path of the workspace: where its copy is in the views.
    pub workspace: String,
    /// What a view may use at most, where that side has smaller limits than the other.
    #[serde(default)]
    pub limits: ViewLimits,
    /// Further folders of build output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build: Vec<WorkspacePath>,
}

/// What a view may use at most; what is not named is for the other side to say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewLimits {
    /// Bytes that it may write to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Files that it may write there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Processes at one moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// A [`ViewRequest`] on its way. What its rules close is not named: it was never sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Names the call.
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
    pub below: Vec<Shown>,
    /// [`ViewRequest::staged`].
    pub staged: Vec<Shown>,
    /// [`ViewRequest::time_limit`], in milliseconds.
    pub time_ms: u64,
    /// [`ViewRequest::output_limit`].
    pub output_bytes: usize,
}

/// A path that is staged, and what is there; contents come by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// The path.
    pub path: WorkspacePath,
    /// What is there.
    pub kind: ChangeKindByHash,
}

/// What has to be built ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warm {
    /// Names the call.
    pub id: u64,
    /// The state in which the copy has to be.
    pub tree: ContentHash,
    /// Command lines, for `bash -c`, one after the other.
    pub lines: Vec<String>,
}

/// What came of building ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Warmed {
    /// The call.
    pub id: u64,
    /// The end of what the commands printed.
    pub output: String,
    /// The exit code of the last command; `None`: a limit or a signal ended it.
    pub exit_code: Option<i32>,
    /// Folders of build output.
    pub folders: Vec<WorkspacePath>,
    /// Bytes that are kept now.
    pub bytes: u64,
    /// Why nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// What kind of failure an answer tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Failure {
    /// There is no view: nothing ran.
    NoView,
    /// The call itself is wrong; whoever asked can do something about it.
    Call,
    /// The command wrote more than a change set may hold.
    Quota,
    /// The copy of the workspace is in another state by now.
    TreeChanged,
}

/// A [`ViewOutput`] on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ran {
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
    pub changes: Vec<Changed>,
    /// [`ViewOutput::git_refused`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_refused: Option<String>,
    /// [`ViewOutput::warm`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warm: Vec<WorkspacePath>,
    /// [`ViewOutput::outside`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// [`ViewOutput::refused`].
    #[serde(default)]
    pub refused: Refused,
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

/// A path at which the view differs from what is below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// The path.
    pub path: WorkspacePath,
    /// What the command found there; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Seen>,
    /// What is there.
    pub kind: ChangeKindByHash,
}

/// What was at a path, so that both sides know whether they mean the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// File, folder or link.
    pub kind: EntryKind,
    /// The hash of the content of a file, or of the target of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
    /// Whether the owner may execute the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

impl Run {
    /// A request over this state of the copy.
    pub fn of(id: u64, tree: ContentHash, request: &ViewRequest) -> Self {
        Self {
            id,
            tree,
            view: request.view.as_str().to_owned(),
            command: request.command.clone(),
            directory: request.directory.clone(),
            below: Shown::all(&request.below),
            staged: Shown::all(&request.staged),
            time_ms: millis(request.time_limit),
            output_bytes: request.output_limit,
        }
    }

    /// The contents that it names.
    pub fn hashes(&self) -> impl Iterator<Item = ContentHash> {
        self.below.iter().chain(&self.staged).filter_map(|shown| match &shown.kind {
            ChangeKindByHash::Write { content, .. } => Some(*content),
            _ => None,
        })
    }
}

impl Shown {
    /// A change set on its way to be shown.
    pub fn all(changes: &ChangeSet) -> Vec<Self> {
        let by_hash = changes.by_hash().changes;
        by_hash.into_iter().map(|change| Self { path: change.path, kind: change.kind }).collect()
    }

    /// The change set again; what was there before is not known on this side. A content that `content` does not have is an error, its hash.
    pub fn change_set(
        shown: &[Self],
        mut content: impl FnMut(ContentHash) -> Option<Content>,
    ) -> Result<ChangeSet, ContentHash> {
        let mut changes = Vec::with_capacity(shown.len());
        for Self { path, kind } in shown {
            let kind = whole(kind, &mut content)?;
            changes.push(Change { path: path.clone(), base: None, base_content: None, kind });
        }
        Ok(ChangeSet { changes, reads: Vec::new() })
    }
}

/// A change set that was shown, with what `tree`, the one below it, has at its paths.
pub async fn over(tree: &dyn Tree, shown: ChangeSet) -> Result<ChangeSet, TreeError> {
    let mut changes = Vec::with_capacity(shown.changes.len());
    for change in shown.changes {
        let (base, base_content) = look(tree, &change.path).await?.unzip();
        changes.push(Change { base, base_content: base_content.flatten(), ..change });
    }
    Ok(ChangeSet { changes, reads: shown.reads })
}

/// What is at a path, and its content or target.
pub(super) async fn look(
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
pub(super) fn whole(
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

impl Ran {
    /// What a view gave, as the answer to a call. What it did to a repository is not part of it: the side with the views has none.
    pub fn of(id: u64, ran: &ViewOutput) -> Self {
        let made = ran.git.as_ref().map(|_| "it makes a repository where the workspace has none".to_owned());
        let by_hash = ran.changes.by_hash().changes;
        let changed = by_hash.into_iter().map(|change| Changed {
            base: change.base.as_ref().map(|base| Seen::of(base, change.base_content)),
            path: change.path,
            kind: change.kind,
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

impl Seen {
    /// What a tree found.
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
