//! Questions of a conversation in the form that clients show, and the meaning of their answers. Nothing here does IO.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Error, PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
    ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use headstart_agent::{Item, Question, QuestionId, Subject, UserAnswer, View};
use headstart_machine::conflicting_commits::ConflictingCommits;
use headstart_machine::conversation::words::{self, counted, counts_with};
use headstart_machine::output::{call_title, not_kept_offer, one_line};
use headstart_machine::parts::ConversationParts;
use headstart_overlay_fs::{ChangeSet, Choice, Conflict, Keep};
use headstart_speculation::ApprovalRequest;

use super::updates;

const YES: &str = "allow";
const ALWAYS: &str = "always";
const NO: &str = "reject";
const ANEW: &str = "anew";
const WORK: &str = "work";
const MINE: &str = "mine";
const BOTH: &str = "both";
const KEEP: &str = "keep";
const KEEP_LEFT_OUT: &str = "keep-ignored";
const LATER: &str = "later";

/// A question that waits for its answer.
pub(super) struct ClientQuestion {
    pub(super) id: QuestionId,
    /// The call that the question is about, as it is sent to the client.
    pub(super) call: ToolCallUpdate,
    /// Whether the client does not know that call yet.
    pub(super) is_new: bool,
    pub(super) options: Vec<PermissionOption>,
    conflicts: Vec<Conflict>,
    commits: Option<ConflictingCommits>,
}

/// The user's answer.
pub(super) enum QuestionReply {
    Answer(UserAnswer),
    /// The commits of the work are to be kept beside the user's own.
    KeepCommits(Box<ConflictingCommits>),
    /// The client has cancelled the question, so what runs is to be stopped.
    Stop,
}

impl ClientQuestion {
    pub(super) fn of(question: &Question, view: &View, parts: &ConversationParts) -> Option<Self> {
        let Question { id, about, always, .. } = question;
        let id = *id;
        let workspace = parts.workspace.as_path();
        let none =
            |call, is_new, options| Self { id, call, is_new, options, conflicts: Vec::new(), commits: None };
        Some(match &**about {
            Subject::Call(judged) => {
                let key = view
                    .items
                    .iter()
                    .rposition(|item| matches!(&**item, Item::Call(item) if item.call.id == judged.call.id));
                let staged = judged.staged.as_ref().map(|staged| staged.changes());
                let call = updates::pending_call(
                    key.unwrap_or(view.items.len()),
                    &judged.call,
                    judged.changes.as_ref().or(staged),
                    workspace,
                );
                let more = always.as_ref().map(|rule| {
                    let name = format!("Always in this session: {}", one_line(&rule.to_string()));
                    option(ALWAYS, &name, PermissionOptionKind::AllowAlways)
                });
                let allow = if staged.is_some() { "Write what is staged, then allow this" } else { "Allow" };
                let options = std::iter::once(yes(allow)).chain(more).chain([no("Reject")]).collect();
                none(call, key.is_none(), options)
            }
            Subject::Changes(asks) => {
                let (call, yes) = of_changes(&id.to_string(), "Take what ran ahead", asks, workspace);
                none(call, true, yes.into_iter().chain([no("Write nothing")]).collect())
            }
            Subject::Conflicts { conflicts, changes, .. } => {
                let title =
                    format!("Not written: {} changed since it ran ahead", counted(conflicts.len(), "file"));
                let text = Some(words::conflicts(conflicts));
                let call = of_work(&id.to_string(), &title, changes, text, workspace);
                let allow = PermissionOptionKind::AllowOnce;
                let mut options = vec![
                    option(ANEW, "Run the prompt anew", allow),
                    option(MINE, "Keep mine, write the rest", allow),
                    option(WORK, "Write the work's in place of mine", allow),
                ];
                if conflicts.iter().all(|conflict| conflict.markers) {
                    options.push(option(BOTH, "Write both, with markers", allow));
                }
                options.push(no("Write nothing"));
                Self { conflicts: conflicts.clone(), ..none(call, true, options) }
            }
            Subject::Commits { work, conflicts, git } => {
                let commits = parts.commits(work, git.as_ref(), conflicts);
                let offer = commits.as_ref().and_then(|commits| commits.offer().ok().flatten());
                let title = "Not written: git was used since it ran ahead";
                let mut text = words::conflicts(conflicts);
                let mut options = vec![option(ANEW, "Run the prompt anew", PermissionOptionKind::AllowOnce)];
                if let Some(offer) = &offer {
                    text = format!("{text}\n{}", offer.merge_advice());
                    let name = format!("Keep its commits as {}", offer.name);
                    options.insert(0, option(KEEP, &name, PermissionOptionKind::AllowOnce));
                }
                options.push(no("Write nothing"));
                let call = of_work(&id.to_string(), title, &ChangeSet::default(), Some(text), workspace);
                let commits = commits.filter(|_| offer.is_some());
                Self { commits, ..none(call, true, options) }
            }
            // A question of an unknown kind is answered with no.
            _ => return None,
        })
    }

    /// The meaning of the client's answer. An answer that is not understood is a no.
    pub(super) fn reply(self, answer: Result<RequestPermissionResponse, Error>) -> QuestionReply {
        let chosen = match answer.map(|answer| answer.outcome) {
            Ok(RequestPermissionOutcome::Cancelled) => return QuestionReply::Stop,
            Ok(RequestPermissionOutcome::Selected(selected)) => selected.option_id.0,
            _ => return QuestionReply::Answer(UserAnswer::No),
        };
        // An option that was not offered does not count as an answer.
        let is_offered = self.options.iter().any(|option| option.option_id.0 == chosen);
        let all = |keep: Keep| {
            let choice = |conflict| Choice { conflict, keep };
            QuestionReply::Answer(UserAnswer::Choices(self.conflicts.iter().cloned().map(choice).collect()))
        };
        match (&*chosen, is_offered) {
            (YES, true) => QuestionReply::Answer(UserAnswer::Yes),
            (KEEP_LEFT_OUT, true) => QuestionReply::Answer(UserAnswer::Keep),
            (ANEW, true) => QuestionReply::Answer(UserAnswer::Anew),
            (WORK, true) => all(Keep::Work),
            (MINE, true) => all(Keep::Yours),
            (BOTH, true) => all(Keep::Markers),
            (ALWAYS, true) => QuestionReply::Answer(UserAnswer::Always),
            (KEEP, true) => self.commits.map_or(QuestionReply::Answer(UserAnswer::No), |commits| {
                QuestionReply::KeepCommits(Box::new(commits))
            }),
            _ => QuestionReply::Answer(UserAnswer::No),
        }
    }
}

/// What the user says of what turns have staged, once a turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StagedReply {
    Write,
    WriteAndKeep,
    Drop,
    /// It stays staged.
    Later,
}

impl StagedReply {
    /// An answer that is not understood changes nothing.
    pub(super) fn of(answer: Result<RequestPermissionResponse, Error>, can_keep: bool) -> Self {
        match answer.map(|answer| answer.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => match &*selected.option_id.0 {
                YES => Self::Write,
                KEEP_LEFT_OUT if can_keep => Self::WriteAndKeep,
                NO => Self::Drop,
                _ => Self::Later,
            },
            _ => Self::Later,
        }
    }
}

/// The question about what turns have staged: the call that it refers to, which the client does not know yet, and the
/// options.
pub(super) fn about_staged(
    number: u64,
    asks: &ApprovalRequest,
    workspace: &Path,
) -> (ToolCallUpdate, Vec<PermissionOption>) {
    let (call, yes) = of_changes(&format!("staged-{number}"), "Write", asks, workspace);
    let later = option(LATER, "Later: it stays staged", PermissionOptionKind::RejectOnce);
    (call, yes.into_iter().chain([no("Drop it"), later]).collect())
}

/// The call that a question about changes refers to, and the ways to agree.
fn of_changes(
    id: &str,
    does: &str,
    asks: &ApprovalRequest,
    workspace: &Path,
) -> (ToolCallUpdate, Vec<PermissionOption>) {
    let changes = asks.changes();
    let title = format!("{does}: {}", counts_with(&changes.summary(), asks.git()));
    let failed = asks.failures().iter().map(|failure| format!("failed: {}", one_line(failure)));
    let keeps = asks
        .can_keep()
        .then(|| option(KEEP_LEFT_OUT, "Write it and keep all", PermissionOptionKind::AllowOnce));
    let how = keeps.as_ref().map(|keeps| format!("\"{}\" keeps them", keeps.name));
    let left_out = not_kept_offer(asks.not_kept(), how.as_deref());
    let after = asks.pending_call().map(|call| format!("After that it asks: {}", call_title(call)));
    let git = asks.git().map(words::git_in_full);
    let lines: Vec<_> = git.into_iter().chain(failed).chain(left_out).chain(after).collect();
    let text = (!lines.is_empty()).then(|| lines.join("\n"));
    (of_work(id, &title, changes, text, workspace), std::iter::once(yes("Write it")).chain(keeps).collect())
}

/// The call that a question about work ahead refers to in the client, and its id.
fn of_work(
    id: &str,
    title: &str,
    changes: &ChangeSet,
    text: Option<String>,
    workspace: &Path,
) -> ToolCallUpdate {
    let places = changes.summary();
    let places = places.iter().map(|row| ToolCallLocation::new(workspace.join(row.path.to_string())));
    let text = text.map(ToolCallContent::from);
    let fields = ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Pending)
        .locations(places.collect::<Vec<_>>())
        .content(text.into_iter().chain(updates::diffs(changes, workspace)).collect::<Vec<_>>());
    ToolCallUpdate::new(ToolCallId::new(format!("question-{id}")), fields)
}

fn yes(name: &str) -> PermissionOption {
    option(YES, name, PermissionOptionKind::AllowOnce)
}

fn no(name: &str) -> PermissionOption {
    option(NO, name, PermissionOptionKind::RejectOnce)
}

fn option(id: &str, name: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption::new(id.to_owned(), name, kind)
}
