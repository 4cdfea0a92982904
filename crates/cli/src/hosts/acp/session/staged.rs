//! What turns have staged: one question when a turn ends, before its prompt is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, NoticeSeverity, RequestPermissionRequest, RequestPermissionResponse, SessionUpdate, ToolCall,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use headstart_agent::{AgentHandle, AppliedWork, CallItem, Phase, View};
use headstart_forked_query::ToolOutcome;
use headstart_machine::conversation::words::{counts_with, git_in_full};
use headstart_machine::conversation::{Conversation, UndoResult, take_back_last_turn};
use headstart_overlay_fs::{Change, ChangeSet};
use headstart_speculation::ApprovalRequest;
use headstart_toolbox::edited_file;
use tokio::task::JoinHandle;

use super::commands::{fenced, listed};
use super::{AcpSession, SessionRequest};
use crate::hosts::acp::questions::{StagedReply, about_staged};
use crate::hosts::acp::updates;

/// The questions about what is staged, and the calls that staged it.
#[derive(Default)]
pub(super) struct StagedQuestions {
    open: Option<(Arc<ApprovalRequest>, JoinHandle<()>)>,
    /// How many there were.
    asked: u64,
    /// Whether the client knows the commands for what is staged.
    pub(super) is_offered: bool,
    /// The key of the prompt whose turn is the last.
    pub(super) turn: usize,
    /// The edits that the client shows as going on, because nothing is written yet.
    calls: BTreeMap<usize, StagedEdit>,
}

struct StagedEdit {
    turn: usize,
    path: String,
}

impl StagedQuestions {
    /// Takes an open question back, and returns whether there was one. What it was about stays staged.
    pub(super) fn withdraw(&mut self) -> bool {
        let open = self.open.take();
        if let Some((_, task)) = &open {
            task.abort();
        }
        open.is_some()
    }
}

impl AcpSession {
    /// Whether the end of the prompt waits for an answer about what is staged. Asks once a prompt.
    pub(super) async fn asks_about_staged(&mut self) -> bool {
        if self.staged.open.is_some() {
            return true;
        }
        let asks = self.conversation.agent.view().unwritten.clone();
        let Some((prompt, asks)) = self.prompt.as_mut().zip(asks) else { return false };
        if prompt.cancelled || std::mem::replace(&mut prompt.asked, true) {
            self.say_unwritten(&asks).await;
            return false;
        }
        self.staged.asked += 1;
        let (call, options) = about_staged(self.staged.asked, &asks, &self.conversation.parts.workspace);
        self.close_question_of_work(ToolCallStatus::Failed).await;
        self.about_work = Some(call.tool_call_id.clone());
        if let Ok(call) = ToolCall::try_from(call.clone()) {
            self.send_update(SessionUpdate::ToolCall(call)).await;
        }
        let request = RequestPermissionRequest::new(self.id.clone(), call, options);
        let (client, me) = (self.client.clone(), self.handle.clone());
        let task = tokio::spawn(async move {
            let answer = client.ask("session/request_permission", &request).await;
            me.send(SessionRequest::AnsweredStaged { answer });
        });
        self.staged.open = Some((asks, task));
        true
    }

    /// Tells the client of the commands as long as something is staged.
    pub(super) async fn offer_commands_for_staged(&mut self, view: &View) {
        let is_staged = view.unwritten.is_some();
        if view.phase == Phase::Idle && is_staged != self.staged.is_offered {
            self.staged.is_offered = is_staged;
            self.send_update(self.offer.commands(is_staged)).await;
        }
    }

    pub(super) async fn on_answer_about_staged(&mut self, answer: Result<RequestPermissionResponse, Error>) {
        let Some((asks, _)) = self.staged.open.take() else { return };
        let reply = StagedReply::of(answer, asks.can_keep());
        match reply {
            // The prompt ends with the write. What is written is what the question has shown.
            StagedReply::Write | StagedReply::WriteAndKeep
                if self.conversation.agent.write_staged(reply == StagedReply::WriteAndKeep).is_ok() =>
            {
                return;
            }
            StagedReply::Drop => {
                let dropped = self.drop_staged().await;
                self.notice(NoticeSeverity::Info, &dropped).await;
            }
            _ => {}
        }
        self.finish().await;
    }

    /// Drops what is staged, and says so.
    pub(super) async fn drop_staged(&mut self) -> String {
        let asks = self.conversation.agent.view().unwritten.clone();
        let Some(asks) = asks.filter(|_| self.conversation.agent.drop_staged().is_ok()) else {
            return "Nothing is staged.".to_owned();
        };
        self.end_staged_calls(ToolCallStatus::Failed).await;
        format!("Dropped: {}. The model is told with your next prompt.", counts(&asks))
    }

    /// What a client is shown of an edit that is staged; `None` if the call staged nothing. As long as that is not
    /// written, the call goes on.
    pub(super) fn staged_by(&mut self, key: usize, call: &CallItem) -> Option<ChangeSet> {
        // Of a session that is told again nobody waits for a call.
        if self.prompt.is_none() || !matches!(call.outcome, Some(ToolOutcome::Output(_))) {
            return None;
        }
        let path = edited_file(&call.call)?;
        let staged = self.conversation.agent.unwritten()?.changes;
        let is_of_call = |changed: &str| {
            let before = path.strip_suffix(changed);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let change = staged.changes.into_iter().find(|change| is_of_call(&change.path.to_string()))?;
        let edit = StagedEdit { turn: self.staged.turn, path: change.path.to_string() };
        self.staged.calls.insert(key, edit);
        Some(ChangeSet { changes: vec![change], reads: Vec::new() })
    }

    /// Tells that what turns had staged is written, and returns whether the client knows all of it from their edits.
    pub(super) async fn on_written(&mut self, applied: &AppliedWork) -> bool {
        let told: Vec<_> = self.staged.calls.values().map(|edit| edit.path.clone()).collect();
        self.end_staged_calls(ToolCallStatus::Completed).await;
        applied.git.is_none() && applied.changes.iter().all(|change| told.contains(&change.path.to_string()))
    }

    /// Takes back what the last turn wrote or staged, and says so.
    pub(super) async fn undo(&mut self) -> String {
        let staged = |agent: &AgentHandle| agent.unwritten().map(|work| work.changes.changes);
        let Conversation { agent, parts, .. } = &self.conversation;
        let before = staged(agent);
        let text = match take_back_last_turn(agent, parts, &mut self.undo_asked) {
            UndoResult::Nothing(why) | UndoResult::Refused(why) => why,
            UndoResult::Part { files, left } => format!("{files}\n{left}"),
            UndoResult::Whole { files, summary } => format!("{files}\n\n{summary}"),
        };
        let (before, after) = (before.unwrap_or_default(), staged(agent).unwrap_or_default());
        let of = |changes: &[Change], path: &str| {
            changes.iter().find(|change| change.path.to_string() == path).cloned()
        };
        let last = self.staged.calls.values().map(|edit| edit.turn).max();
        let is_last = |edit: &StagedEdit| Some(edit.turn) == last;
        let mut edits = self.staged.calls.values().filter(|edit| is_last(edit));
        if edits.all(|edit| of(&before, &edit.path) != of(&after, &edit.path)) {
            let (ended, left) =
                std::mem::take(&mut self.staged.calls).into_iter().partition(|(_, edit)| is_last(edit));
            self.staged.calls = ended;
            self.end_staged_calls(ToolCallStatus::Failed).await;
            self.staged.calls = left;
        }
        text
    }

    async fn end_staged_calls(&mut self, status: ToolCallStatus) {
        for key in std::mem::take(&mut self.staged.calls).into_keys() {
            let ended =
                ToolCallUpdate::new(updates::call_id(key), ToolCallUpdateFields::new().status(status));
            self.send_update(SessionUpdate::ToolCallUpdate(ended)).await;
        }
    }

    pub(super) async fn say_unwritten(&self, asks: &ApprovalRequest) {
        let text =
            format!("Not written yet: {}.\n/write writes it, /diff shows it, /drop drops it.", counts(asks));
        self.notice(NoticeSeverity::Info, &text).await;
    }
}

/// What is staged, whole.
pub(super) fn in_full(asks: &ApprovalRequest) -> String {
    let git = asks.git().map(|git| listed(&[git_in_full(git)]));
    let diff = asks.changes().diff();
    let diff = (!diff.is_empty()).then(|| fenced(&diff));
    git.into_iter().chain(diff).collect()
}

fn counts(asks: &ApprovalRequest) -> String {
    counts_with(&asks.changes().summary(), asks.git())
}
