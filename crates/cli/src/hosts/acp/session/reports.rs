//! Tells the client about the items of a conversation.

use std::sync::atomic::Ordering;

use agent_client_protocol_schema::v1::{
    Notice, NoticeSeverity, SessionUpdate, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use headstart_agent::{AppliedPlace, CallItem, Item, NotAppliedReason};
use headstart_machine::conversation::words;
use headstart_machine::output::{checked_line, merged_line, not_kept_line, stale_line};
use headstart_speculation::{CallStage, Origin};

use super::AcpSession;
use crate::hosts::acp::updates;

/// The id of the call that tells of a write. What turns had staged has no id of its own.
fn applied_id(key: usize, work: &str) -> ToolCallId {
    let work = if work.is_empty() { key.to_string() } else { work.to_owned() };
    ToolCallId::new(format!("applied-{work}"))
}

impl AcpSession {
    pub(super) async fn on_item(&mut self, key: usize, item: &Item, is_new: bool) {
        if matches!(item, Item::Prompt { .. }) {
            self.staged.turn = key;
        }
        match item {
            // The client already shows the prompt that it sent.
            Item::Prompt { text } if self.prompt.as_ref().is_none_or(|prompt| prompt.sent != *text) => {
                self.send_update(updates::prompt(key, text)).await;
            }
            Item::Answer { text } if is_new => self.send_update(updates::answer(key, text)).await,
            Item::Call(call) => self.on_call(key, call).await,
            Item::Check(checked) => self.notice(NoticeSeverity::Info, &checked_line(checked)).await,
            Item::Applied(applied) if is_new => {
                let written = self.conversation.written.take_all(&applied.changes);
                let is_of_turns = applied.place == AppliedPlace::WrittenTurns;
                let is_told = is_of_turns && self.on_written(applied).await && self.about_work.is_none();
                if !is_told && (!applied.changes.is_empty() || applied.git.is_some()) {
                    self.conversation.parts.warm_views();
                    let id = self.about_work.take();
                    let is_known = id.is_some();
                    let id = id.unwrap_or_else(|| applied_id(key, &applied.id));
                    let workspace = &self.conversation.parts.workspace;
                    let call = updates::applied(id, applied, written.as_ref(), workspace);
                    self.tell_call(call, is_known).await;
                }
                let merged = applied.merged.iter().map(merged_line);
                let left_out = not_kept_line(&applied.not_kept);
                let guess = applied.guess.as_ref();
                let matched =
                    guess.map(|guess| format!("✓ that ran ahead (“{guess}”) · /undo takes it back"));
                let lines: Vec<_> = matched
                    .into_iter()
                    .chain(merged)
                    .chain(left_out)
                    .chain(stale_line(applied.stale.len()))
                    .collect();
                if !lines.is_empty() {
                    self.notice(NoticeSeverity::Info, &lines.join("\n")).await;
                }
            }
            Item::NotApplied { why, anew, .. } => self.on_not_taken(why, *anew).await,
            Item::Undone { text } => self.notice(NoticeSeverity::Info, text).await,
            Item::Compacted(compacted) => self.notice(NoticeSeverity::Info, &compacted.to_string()).await,
            Item::Trouble { text } => self.notice(NoticeSeverity::Warning, text).await,
            Item::End { ending } => {
                if let Some(prompt) = &mut self.prompt {
                    prompt.ending = Some(ending.clone());
                }
                for notice in self.conversation.parts.notices() {
                    self.notice(NoticeSeverity::Info, &notice).await;
                }
                self.conversation.written.clear();
            }
            _ => {}
        }
    }

    pub(super) async fn on_call(&mut self, key: usize, call: &CallItem) {
        // The arguments are not complete yet.
        if call.stage == CallStage::Generating {
            return;
        }
        let workspace = self.conversation.parts.workspace.clone();
        let is_known = self.calls.contains_key(&key);
        // The turn that continues with this call tells the client about it.
        if call.stage == CallStage::Boundary && !is_known {
            return;
        }
        if !is_known {
            self.send_update(SessionUpdate::ToolCall(updates::call(key, call, &workspace))).await;
        }
        // The end of a call is told together with its outcome.
        if call.stage.is_end() && call.outcome.is_none() {
            self.open_calls.insert(key);
            self.calls.entry(key).or_insert_with(|| updates::changed_call(key, call, None, &workspace));
            return;
        }
        // What work ahead changed is told when it is accepted.
        let is_edit = updates::kind(&call.call) == ToolKind::Edit;
        let may_have_written = is_edit && call.stage.is_end() && call.origin == Origin::Turn;
        let written = may_have_written.then(|| self.conversation.written.take(&call.call)).flatten();
        let staged = (may_have_written && written.is_none()).then(|| self.staged_by(key, call)).flatten();
        let mut update = updates::changed_call(key, call, written.as_ref().or(staged.as_ref()), &workspace);
        if staged.is_some() {
            update.fields.status = Some(ToolCallStatus::InProgress);
        }
        // A call that the client did not know was told with its current stage.
        let says_more = call.printed.is_some() || call.outcome.is_some();
        if (is_known || says_more) && self.calls.get(&key) != Some(&update) {
            self.send_update(SessionUpdate::ToolCallUpdate(update.clone())).await;
        }
        self.calls.insert(key, update);
        if call.stage.is_end() {
            self.open_calls.remove(&key);
        } else {
            self.open_calls.insert(key);
        }
    }

    async fn on_not_taken(&mut self, reason: &NotAppliedReason, anew: bool) {
        let why = match reason {
            NotAppliedReason::Conflict(conflicts) => words::conflicts(conflicts),
            NotAppliedReason::Withdrawn(judged) => {
                format!("{} is not allowed any more: {}", judged.call.name, judged.verdict.detail)
            }
            NotAppliedReason::Discarded => "it stopped at a call that needs your consent".to_owned(),
            NotAppliedReason::Failed { error } => error.clone(),
            _ => String::new(),
        };
        self.close_question_of_work(ToolCallStatus::Failed).await;
        let then = if anew { "; it runs anew" } else { "" };
        // An error says itself how much was done.
        let text = match reason {
            NotAppliedReason::Failed { .. } => why,
            _ => format!("{why}\nnothing of the work ahead was applied{then}"),
        };
        self.notice(NoticeSeverity::Warning, text.trim_start()).await;
    }

    pub(super) async fn close_question_of_work(&mut self, status: ToolCallStatus) {
        if let Some(id) = self.about_work.take() {
            let fields = ToolCallUpdateFields::new().status(status);
            self.send_update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))).await;
        }
    }

    async fn tell_call(&self, call: ToolCall, is_known: bool) {
        if is_known {
            let fields = ToolCallUpdateFields::new()
                .title(call.title)
                .status(call.status)
                .locations(call.locations)
                .content(call.content);
            self.send_update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.tool_call_id, fields)))
                .await;
        } else {
            self.send_update(SessionUpdate::ToolCall(call)).await;
        }
    }

    /// Tells the client something that the model did not say. A client without notices shows it as part of the answer.
    pub(super) async fn notice(&self, severity: NoticeSeverity, text: &str) {
        if self.knows_notices() {
            let (title, more) =
                text.split_once('\n').map_or((text, None), |(title, more)| (title, Some(more)));
            let notice = Notice::new(severity, title).description(more.map(str::to_owned));
            return self.send_update(SessionUpdate::Notice(notice)).await;
        }
        let number = self.message_count.fetch_add(1, Ordering::Relaxed);
        self.send_update(updates::agent_message(number, &format!("\n\n{text}\n\n"))).await;
    }

    /// Tells the client something between two prompts, when no answer could show it.
    pub(super) async fn remark(&self, text: &str) {
        if self.knows_notices() {
            self.notice(NoticeSeverity::Info, text).await;
        }
    }

    fn knows_notices(&self) -> bool {
        self.client.capabilities().session.is_some_and(|session| session.notices.is_some())
    }

    pub(super) async fn send_update(&self, update: SessionUpdate) {
        self.client.update(&self.id, update).await;
    }
}
