use std::collections::HashSet;

use headstart_forked_query::{Message, PairingError, Part, ToolCall, ToolOutcome, ToolResult, check_pairing};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{
    ChangeSummary, Choice, CommitOptions, CommitOutcome, Conflict, Keep, LeftOut, TreeError, Workspace,
    WorkspacePath, resolve_conflicts,
};
use headstart_tool_gate::{Access, CallRef, Decision, Gate, GateContext, Reason, Verdict, built_in};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{AcceptAnswers, ApprovalRequest};
use crate::{Ending, Finished, Transcript};

/// How an accept ended, if nothing went wrong.
#[must_use = "the changes are in the workspace only if it is `Accepted`, and the transcript is to be kept then"]
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Acceptance {
    /// The changes are in the workspace.
    Accepted(Accepted),
    /// The user changed what the work builds on. Nothing was changed. Their choice for each conflict is given to the
    /// next accept ([`Speculation::accept_with`](crate::Speculation::accept_with)).
    Conflict(Vec<Conflict>),
    /// A call that ran is not allowed any more. Nothing was changed.
    Withdrawn {
        /// The call.
        call: ToolCall,
        /// What the gate says of it now.
        verdict: Verdict,
    },
    /// The work wrote in a mode that asks before a write, and the user has not been asked. Nothing was changed: show
    /// the user the changes, and accept with their [`AcceptAnswers`].
    NeedsApproval(ApprovalRequest),
    /// There is nothing to hand over, because nothing was done or the work was aborted.
    Nothing,
    /// The work stopped at a call that needs consent, and the host does not accept such work
    /// ([`AtBoundary::Discard`](crate::AtBoundary::Discard)). The work is dropped; nothing was changed.
    Discarded,
}

impl Acceptance {
    /// The name of the result in a log.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Conflict(_) => "conflict",
            Self::Withdrawn { .. } => "withdrawn",
            Self::NeedsApproval(_) => "asks_first",
            Self::Nothing => "nothing",
            Self::Discarded => "discarded",
        }
    }
}

/// What an accept hands over.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// What the work changed in the workspace.
    pub changes: Vec<ChangeSummary>,
    /// What the work changed in the git repository.
    pub git: Option<Box<GitChange>>,
    /// What the work wrote or removed and this did not bring.
    pub not_kept: Vec<LeftOut>,
    /// Those of the files that the user changed as well: they contain both edits.
    pub merged: Vec<WorkspacePath>,
    /// What the work read and the user changed since; empty unless the host allows it
    /// ([`Host::commit_options`](crate::Host::commit_options)).
    pub stale_reads: Vec<Conflict>,
    /// What the user changed in the workspace after the last command of the work began in a view, so that this command
    /// has not seen it ([`Host::changed_since`](crate::Host::changed_since)).
    pub changed_since_view: Vec<WorkspacePath>,
    /// The choice of the user for each path about which they were asked.
    pub conflict_resolutions: Vec<ConflictResolution>,
    /// What is added to the conversation. If it has a pending call, the host asks the user and goes on in a foreground
    /// turn ([`Engine::turn`](crate::Engine::turn)), without asking the model again.
    pub transcript: Transcript,
    /// How the work had ended. If it was not completed, the turn is not over: the host goes on in the foreground.
    pub ending: Ending,
    /// The next suggestion, if it is there already.
    pub next: Option<String>,
    /// Milliseconds of work for which the user did not wait (their reading time is not counted).
    pub time_saved_ms: u64,
}

/// What a path holds because its user chose so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictResolution {
    /// The path.
    pub path: WorkspacePath,
    /// The choice.
    pub keep: Keep,
}

impl Accepted {
    /// What the model has to know before it goes on, because a file does not hold what the conversation says was
    /// written. A host puts this before the user's next words, in the same message. `None` if everything is as the
    /// conversation says.
    pub fn note(&self) -> Option<String> {
        let line = |keep: Keep, words: &str| {
            let paths: Vec<_> =
                self.conflict_resolutions.iter().filter(|resolution| resolution.keep == keep).collect();
            let paths: Vec<_> = paths.iter().map(|resolution| resolution.path.to_string()).collect();
            (!paths.is_empty()).then(|| format!("{words}: {}.", paths.join(", ")))
        };
        let lines: Vec<_> = [
            line(
                Keep::Yours,
                "The user kept their own version of these files, so your changes of them are not there",
            ),
            line(
                Keep::Markers,
                "These files hold the user's edits and yours, with conflict markers where they overlap",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// Why an accept went wrong. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// The work was handed over before.
    #[error("speculation {id} is accepted already")]
    AlreadyAccepted {
        /// The speculation.
        id: String,
    },
    /// It builds on work that is not accepted.
    #[error("speculation {id} stands on {below}, which is not written yet; write that first")]
    BaseNotAccepted {
        /// The speculation.
        id: String,
        /// The speculation below it.
        below: String,
    },
    /// A record from another process has a transcript that no provider would accept.
    #[error("the transcript of speculation {id} is damaged: {source}")]
    InvalidTranscript {
        /// The speculation.
        id: String,
        /// What is wrong.
        source: PairingError,
    },
    /// The tree could not be written; what was begun is rolled back.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// Why a speculation was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The prompt has no text.
    #[error("the prompt is empty")]
    Empty,
    /// A slash command is for the host, not for a model.
    #[error("{prompt:?} is a command, not a prompt")]
    Command {
        /// The prompt.
        prompt: String,
    },
}

/// Hands over finished work. It judges again, by the rules in force now, every call that ran and every path that was
/// written or read, checks for the user's yes if the mode requires it, and then commits all of the changes or none. A
/// choice of the user that cannot be made is a conflict again.
pub async fn accept(
    finished: &Finished,
    answers: &AcceptAnswers,
    workspace: &dyn Workspace,
    gate: &Gate,
    context: &GateContext,
    options: CommitOptions,
) -> Result<Acceptance, AcceptError> {
    let transcript = &finished.transcript;
    if !finished.has_results() {
        return Ok(Acceptance::Nothing);
    }
    check_pairing(&transcript.messages)
        .map_err(|source| AcceptError::InvalidTranscript { id: finished.id.clone(), source })?;
    let mut judged = judge_again(finished, gate, context);
    let tool_needs_approval = judged.iter().any(|(_, verdict)| verdict.reason == Reason::StagedAsksFirst);
    let withdrawn = judged.iter().position(|(_, verdict)| verdict.decision == Decision::Boundary);
    let withdrawn = withdrawn
        .map(|first| judged.swap_remove(first))
        .or_else(|| withdrawn_path(finished, gate, context))
        .or_else(|| withdrawn_git(finished, context));
    if let Some((call, verdict)) = withdrawn {
        return Ok(Acceptance::Withdrawn { call, verdict });
    }
    let tool_needs_approval = tool_needs_approval && !finished.changes.changes.is_empty();
    if (tool_needs_approval || needs_approval(finished, gate, context)) && !answers.approves(finished) {
        return Ok(Acceptance::NeedsApproval(ApprovalRequest::of(finished)));
    }
    let choices = answers.choices();
    let resolved = match choices {
        [] => None,
        choices => Some(resolve_conflicts(workspace, &finished.changes, choices).await?),
    };
    let changes = resolved.as_ref().unwrap_or(&finished.changes);
    let outcome = match &finished.git {
        None => workspace.commit(changes, options).await?,
        Some(git) => workspace.commit_with(changes, &git.beside(), options).await?,
    };
    let committed = match outcome {
        CommitOutcome::Committed(committed) => committed,
        CommitOutcome::Conflict(conflicts) => return Ok(Acceptance::Conflict(conflicts)),
    };
    Ok(Acceptance::Accepted(Accepted {
        changes: changes.summary(),
        git: finished.git.clone().map(Box::new),
        not_kept: finished.not_kept.clone(),
        merged: committed.merged,
        stale_reads: committed.stale_reads,
        changed_since_view: Vec::new(),
        conflict_resolutions: conflict_resolutions(finished, choices),
        transcript: transcript.clone(),
        ending: finished.ending.clone(),
        next: finished.next.clone(),
        // What runs again saves nothing.
        time_saved_ms: finished.cost.work_ms.saturating_sub(finished.cost.stopped_ms),
    }))
}

/// The choices that are about a path that the work wrote.
fn conflict_resolutions(finished: &Finished, choices: &[Choice]) -> Vec<ConflictResolution> {
    let is_written =
        |path: &WorkspacePath| finished.changes.changes.iter().any(|change| change.path == *path);
    let choices = choices.iter().filter(|choice| is_written(&choice.conflict.path));
    choices
        .map(|choice| ConflictResolution { path: choice.conflict.path.clone(), keep: choice.keep })
        .collect()
}

/// The calls that ran, in order, each with what the gate says of it now. A call that was answered with an error did
/// nothing, so it is left out.
fn judge_again(finished: &Finished, gate: &Gate, context: &GateContext) -> Vec<(ToolCall, Verdict)> {
    let Transcript { messages, ready, .. } = &finished.transcript;
    let results = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    let ran: HashSet<&str> = results.chain(ready).filter_map(ran_call).collect();
    let calls = messages.iter().flat_map(Message::tool_calls).chain(finished.transcript.waiting_calls());
    let ran = calls.filter(|call| ran.contains(call.id.as_str())).chain(&finished.task_calls);
    ran.map(|call| {
        let verdict = gate.judge_ahead(CallRef { name: &call.name, args: &call.args }, context);
        (call.clone(), verdict)
    })
    .collect()
}

/// The first path that was written or read, by any call and behind any link, and that the rules do not allow now. It is
/// reported as the plain call that would reach it.
fn withdrawn_path(finished: &Finished, gate: &Gate, context: &GateContext) -> Option<(ToolCall, Verdict)> {
    let written =
        finished.changes.changes.iter().map(|change| (Access::Write, &built_in::WRITE_FILE, &change.path));
    let read = finished.changes.reads.iter().map(|seen| (Access::Read, &built_in::READ_FILE, &seen.path));
    let committed = finished.git.iter().flat_map(|git| &git.paths);
    let committed = committed.map(|path| (Access::Write, &built_in::WRITE_FILE, path));
    written.chain(committed).chain(read).find_map(|(access, tool, path)| {
        let verdict = gate.judge_path(access, path, context);
        let args = || Map::from_iter([("file_path".to_owned(), Value::from(path.to_string()))]);
        let call = || ToolCall { id: String::new(), name: tool.name.to_string(), args: args() };
        (verdict.decision == Decision::Boundary).then(|| (call(), verdict))
    })
}

/// A change of the repository in a mode that asks before a write, if nobody is asked when the work is taken. It is
/// reported as the command that makes it.
fn withdrawn_git(finished: &Finished, context: &GateContext) -> Option<(ToolCall, Verdict)> {
    let git = finished.git.as_ref().filter(|_| !context.stages_ahead())?;
    let detail = format!("it makes {}, and this mode asks before a write", git.summary());
    let verdict = Verdict::boundary(Reason::WriteToolNoAuto, detail);
    let args = Map::from_iter([("command".to_owned(), Value::from("git"))]);
    let call = ToolCall { id: String::new(), name: built_in::SHELL.name.to_string(), args };
    Some((call, verdict))
}

/// Whether, by the mode in force now, the user must be asked: about a change of the repository, about a path that is
/// written, or about one that is written if they want it.
fn needs_approval(finished: &Finished, gate: &Gate, context: &GateContext) -> bool {
    let git = finished.git.is_some() && context.asks_on_accept();
    let mut changes = finished.changes.changes.iter().chain(&finished.keepable);
    git || changes
        .any(|change| gate.judge_path(Access::Write, &change.path, context).reason == Reason::StagedAsksFirst)
}

fn ran_call(result: &ToolResult) -> Option<&str> {
    matches!(result.outcome, ToolOutcome::Output(_)).then_some(&result.id)
}
