use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_workspace_path::WorkspacePath;
use serde::{Deserialize, Serialize};

/// What becomes of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decision {
    /// It runs: it only reads.
    Allow,
    /// It runs over the overlay: its writes are staged.
    Redirect,
    /// It runs in a copy-on-write view of the workspace, and what it wrote there is staged. Only
    /// [`Gate::judge_ahead`](crate::Gate::judge_ahead) decides so, and only if
    /// [`GateContext::views`](crate::GateContext::views) is set.
    Shadow,
    /// It does not run: the speculation stops here.
    Boundary,
}

impl Decision {
    /// All decisions, from what runs to what does not.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Redirect, Self::Shadow, Self::Boundary];

    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Redirect => "redirect",
            Self::Shadow => "shadow",
            Self::Boundary => "boundary",
        }
    }
}

/// The reason for a verdict, as a code for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Nothing but reading.
    ReadOnly,
    /// A write that the overlay stages.
    StagedWrite,
    /// A write of work that runs ahead: the overlay stages it, and the user is asked before any of it is applied.
    StagedAsksFirst,
    /// An argument is missing or of the wrong type. A call of a file tool is let run, because the tool finds no path
    /// either and answers with an error that the model can act on; a shell call is a boundary.
    InvalidArgument,
    /// Several arguments name the path, and they may differ.
    AmbiguousPath,
    /// The approval mode asks before a write.
    WriteToolNoAuto,
    /// A path outside the workspace.
    OutsideWorkspace,
    /// A path that a deny rule matches.
    DeniedPath,
    /// A file whose name says that it holds a secret ([`SECRET_FILES`](crate::SECRET_FILES)): the user is asked, and
    /// nothing ahead touches it.
    SecretPath,
    /// A write of what other programs execute or obey ([`PROTECTED_FILES`](crate::PROTECTED_FILES)).
    ProtectedPath,
    /// A tool that the user excludes.
    #[cfg(feature = "tool-policies")]
    ExcludedTool,
    /// A tool of a server, about which only the server's own words are known.
    #[cfg(feature = "tool-servers")]
    ServerTool,
    /// A tool that nobody declared to the gate.
    #[serde(alias = "denied_tool")]
    UnknownTool,
    /// A command that writes.
    Writes,
    /// A command that opens a connection.
    Network,
    /// A command that runs a program chosen by its arguments or by the repository.
    Executes,
    /// A command that reads outside the workspace, or may do so.
    ReadsOutside,
    /// A command that discloses the environment, or changes it for what follows.
    Environment,
    /// A command that may read what is staged, and would see the real file instead. The engine gives this reason.
    ReadsStaged,
    /// A command that needs something a view does not offer: the network, more rights, or a service of the host. The
    /// gate gives this reason for a program that is known for it, the engine for one that asked for it.
    NeedsHost,
    /// A command that wrote outside the workspace, where a view keeps nothing, or that may have moved the only copy of
    /// something to a place from which nothing is kept. The engine gives this reason.
    WritesOutside,
    /// A command whose files the user changed while it ran, so that its result is worthless. The engine gives this
    /// reason.
    ChangedMeanwhile,
    /// A change of a file with several names (hard links), which parts this name from the others. The engine gives this
    /// reason.
    HardLinks,
    /// A policy of the user or the project stops at this command.
    Policy,
    /// A command that may never end.
    NonTerminating,
    /// A command that the gate does not understand.
    NotUnderstood,
    /// A command that is too long, too deeply nested or has too many parts to be judged.
    Limit,
}

impl Reason {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::StagedWrite => "staged_write",
            Self::StagedAsksFirst => "staged_asks_first",
            Self::InvalidArgument => "invalid_argument",
            Self::AmbiguousPath => "ambiguous_path",
            Self::WriteToolNoAuto => "write_tool_no_auto",
            Self::OutsideWorkspace => "outside_workspace",
            Self::DeniedPath => "denied_path",
            Self::SecretPath => "secret_path",
            Self::ProtectedPath => "protected_path",
            #[cfg(feature = "tool-policies")]
            Self::ExcludedTool => "excluded_tool",
            #[cfg(feature = "tool-servers")]
            Self::ServerTool => "server_tool",
            Self::UnknownTool => "unknown_tool",
            Self::Writes => "writes",
            Self::Network => "network",
            Self::Executes => "executes",
            Self::ReadsOutside => "reads_outside",
            Self::Environment => "environment",
            Self::ReadsStaged => "reads_staged",
            Self::NeedsHost => "needs_host",
            Self::WritesOutside => "writes_outside",
            Self::ChangedMeanwhile => "changed_meanwhile",
            Self::HardLinks => "hard_links",
            Self::Policy => "policy",
            Self::NonTerminating => "non_terminating",
            Self::NotUnderstood => "not_understood",
            Self::Limit => "limit",
        }
    }
}

/// The kinds of effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EffectKind {
    /// Reads, prints.
    ReadOnly,
    /// Writes below the workspace.
    WritesWorkspace,
    /// Writes elsewhere.
    WritesOutside,
    /// Opens a connection.
    Network,
    /// Runs a program that the command, its arguments or the repository chose.
    Executes,
    /// Reads outside the workspace.
    ReadsOutside,
    /// Discloses or depends on the environment.
    Environment,
    /// May never end.
    NonTerminating,
    /// Not understood.
    Unknown,
}

impl EffectKind {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnly",
            Self::WritesWorkspace => "writesWorkspace",
            Self::WritesOutside => "writesOutside",
            Self::Network => "network",
            Self::Executes => "executes",
            Self::ReadsOutside => "readsOutside",
            Self::Environment => "environment",
            Self::NonTerminating => "nonTerminating",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Its kind.
    pub kind: EffectKind,
    /// A description in a sentence.
    pub detail: String,
    /// Where it is in a shell command: byte offsets on character boundaries, the end not included. Every effect that
    /// comes from the command's text has one; those of an allowed command are in the order of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
}

/// How an allowed command must run, if it could do more than read when run as it is written.
///
/// It runs in the executor's [clean environment](crate::clean_environment).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hardened {
    /// Variables that must be set. Those of git are many, so all verdicts share one map.
    pub environment: Arc<BTreeMap<String, String>>,
    /// The command line to run instead of the one in the call; `None` if that one is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// What must be true if the command starts git; `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) git: Option<GitNeeds>,
    /// Files beside databases, which must be missing or empty: what they hold is newer than the database, and this form
    /// of the command does not read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) absent: Vec<String>,
}

impl Hardened {
    /// The command line in this form, to be shown or passed on; `None` if it is the one in the call. Whoever runs it
    /// needs a [`ConditionalCommand`](crate::ConditionalCommand), which knows what must be checked first.
    pub fn shown(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// What must be true if the command starts git.
    pub const fn git(&self) -> Option<&GitNeeds> {
        self.git.as_ref()
    }
}

/// What no variable and no option can prevent git from doing.
/// [`ConditionalCommand::prove`](crate::ConditionalCommand::prove) checks it right before the command runs; if it is
/// not met, the command must not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitNeeds {
    /// From this version on, major and minor, git knows all variables of the
    /// [hardened form](Hardened::environment). With an older one, from 2.34 on, `prove` demands more: the
    /// repository's configuration must define no filter, no diff or merge program, no promisor remote and no
    /// include, as far as that version could not be kept from heeding them.
    pub version: (u32, u32),
    /// Folders of the workspace from which git looks for a repository; `.` is the workspace itself.
    pub folders: Vec<String>,
    /// Files below the repository's own folder (`.git`, or what a file of that name leads to). In any repository in
    /// one of the folders or above, up to the workspace, they must not exist, or contain none of the words `filter`,
    /// `diff`, `merge` and `[attr]`: they can name a program of the repository's configuration, and git cannot be
    /// told to ignore them.
    ///
    /// Nor may such a repository's configuration set a `core.worktree` outside the workspace.
    pub hides: Vec<String>,
    /// Whether the command may show what the configuration of a repository says (`git remote -v`). Then none in one
    /// of the folders or above may hold a password or a token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_settings: bool,
}

/// What the gate says of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// What becomes of the call.
    pub decision: Decision,
    /// The reason, for programs.
    pub reason: Reason,
    /// The reason, for people.
    pub detail: String,
    /// What the call would do. At a boundary, only the effects that make it one.
    pub effects: Vec<Effect>,
    /// Workspace-relative paths that may be read: `.` is the whole workspace, and a folder stands for everything
    /// below it. The list is complete for every verdict that allows. At a boundary, and for a command in a view, it
    /// may contain an operand that is written (`sort -o`), and may lack some that are read.
    pub reads: Vec<WorkspacePath>,
    /// Workspace-relative paths that are written, if known: by a call of a file tool, and by a command's `>`. What a
    /// program itself writes is not listed: such a command is a boundary, or the view shows what it wrote.
    pub writes: Vec<WorkspacePath>,
    /// How the command must run, if its plain form is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardened: Option<Hardened>,
}

impl Verdict {
    pub(crate) fn new(decision: Decision, reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            decision,
            reason,
            detail: detail.into(),
            effects: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hardened: None,
        }
    }

    /// A boundary with its reason. Public for an engine, which also knows what is staged.
    pub fn boundary(reason: Reason, detail: impl Into<String>) -> Self {
        Self::new(Decision::Boundary, reason, detail)
    }

    /// Every reason for the verdict, for people: [`detail`](Self::detail), and behind it what else a command would do
    /// that makes it a boundary, in the order of its text and each once.
    pub fn reasons(&self) -> Vec<&str> {
        // What a file tool would do has no place in a text, and `detail` says it already.
        let of_command = self.effects.iter().filter(|effect| effect.span.is_some());
        let others = of_command.filter(|effect| effect.kind != EffectKind::ReadOnly);
        let mut reasons = vec![self.detail.as_str()];
        for other in others {
            if !reasons.contains(&other.detail.as_str()) {
                reasons.push(&other.detail);
            }
        }
        reasons
    }

    pub(crate) fn with_effect(mut self, kind: EffectKind, detail: impl Into<String>) -> Self {
        self.effects.push(Effect { kind, detail: detail.into(), span: None });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_one_in_json() {
        fn check<T: Copy + Serialize>(all: &[T], name: fn(T) -> &'static str) {
            for one in all {
                assert_eq!(serde_json::to_value(one).unwrap(), name(*one));
            }
        }
        check(&[Decision::Allow, Decision::Redirect, Decision::Shadow, Decision::Boundary], Decision::as_str);
        check(
            &[
                EffectKind::ReadOnly,
                EffectKind::WritesWorkspace,
                EffectKind::WritesOutside,
                EffectKind::Network,
                EffectKind::Executes,
                EffectKind::ReadsOutside,
                EffectKind::Environment,
                EffectKind::NonTerminating,
                EffectKind::Unknown,
            ],
            EffectKind::as_str,
        );
        check(
            &[
                Reason::ReadOnly,
                Reason::StagedWrite,
                Reason::StagedAsksFirst,
                Reason::InvalidArgument,
                Reason::AmbiguousPath,
                Reason::WriteToolNoAuto,
                Reason::OutsideWorkspace,
                Reason::DeniedPath,
                Reason::SecretPath,
                Reason::ProtectedPath,
                Reason::UnknownTool,
                Reason::Writes,
                Reason::Network,
                Reason::Executes,
                Reason::ReadsOutside,
                Reason::Environment,
                Reason::ReadsStaged,
                Reason::NeedsHost,
                Reason::WritesOutside,
                Reason::ChangedMeanwhile,
                Reason::HardLinks,
                Reason::Policy,
                Reason::NonTerminating,
                Reason::NotUnderstood,
                Reason::Limit,
            ],
            Reason::as_str,
        );
    }
}
