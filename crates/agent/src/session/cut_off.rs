//! A turn that has no end, because the program was killed in it.

use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult};
use headstart_tool_gate::{Behaviour, Declaration, built_in, ours};
use headstart_toolbox::Wording;

use super::{MOST_TOLD, Session};
use crate::item::Item;

/// What the model reads of a call that ran when the program ended.
pub(super) const INTERRUPTED: &str =
    "[interrupted: the program ended before this call did; what it did until then stays]";
/// What the model reads of a call that had not begun when the program ended.
pub(super) const NOT_RUN: &str = "[not run: the program ended before it]";

/// A turn whose end was not read yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenTurn {
    pub(super) prompt: String,
    /// How many messages and items there were before it.
    pub(super) history: usize,
    pub(super) items: usize,
    /// The calls that had begun, by their ids.
    pub(super) begun: Vec<String>,
    /// Whether work that ran ahead was about to be applied.
    pub(super) is_accepting: bool,
    pub(super) has_messages: bool,
}

impl Session {
    /// Ends a turn that has no end of its own: its calls without a result get one that says what became of them.
    pub(super) fn close_cut_off(&mut self) {
        let Some(turn) = self.open.take() else { return };
        if !turn.has_messages {
            self.history.push(Message::text(Role::User, turn.prompt.clone()));
        }
        let results = self.history.iter().rev().take_while(|message| message.role != Role::Model);
        let results = results.flat_map(|message| &message.parts).filter_map(|part| match part {
            Part::ToolResult(result) => Some(result.id.clone()),
            _ => None,
        });
        let answered: Vec<_> = results.collect();
        let last = self.history.iter().rfind(|message| message.role == Role::Model);
        let calls: Vec<_> = last.into_iter().flat_map(Message::tool_calls).cloned().collect();
        let open: Vec<_> = calls.into_iter().filter(|call| !answered.contains(&call.id)).collect();
        self.cut_off = Some(self.told_of_cut_off(&turn, &open));
        let results = open.into_iter().map(|call| {
            let why = if turn.begun.contains(&call.id) { INTERRUPTED } else { NOT_RUN };
            Part::ToolResult(ToolResult {
                id: call.id,
                name: call.name,
                outcome: ToolOutcome::Error(why.to_owned()),
            })
        });
        let results: Vec<_> = results.collect();
        match self.history.last_mut() {
            _ if results.is_empty() => {}
            Some(last) if last.role == Role::Tool => last.parts.extend(results),
            _ => self.history.push(Message { role: Role::Tool, parts: results }),
        }
    }

    /// What was done in a turn that was cut off, in words for its user.
    fn told_of_cut_off(&self, turn: &OpenTurn, open: &[ToolCall]) -> String {
        let mut done: Vec<String> = Vec::new();
        for item in self.items.iter().skip(turn.items) {
            let Item::Call(item) = item else { continue };
            let has_run = matches!(item.outcome, Some(ToolOutcome::Output(_)));
            let effect = effect(&item.call).filter(|effect| has_run && !done.contains(effect));
            done.extend(effect);
        }
        let left_out = done.len().saturating_sub(MOST_TOLD);
        done.truncate(MOST_TOLD);
        if 0 < left_out {
            done.push(format!("{left_out} more"));
        }
        let running = open.iter().filter(|call| turn.begun.contains(&call.id));
        let running = running.map(|call| Wording::filled(&Wording::of(&call.name).is_currently, &call.args));
        let running = running.collect::<Vec<_>>().join(", ");
        let what = match (done.join(", "), running.as_str()) {
            _ if turn.is_accepting && !turn.has_messages => {
                "it was applying work that had run ahead, and may have changed files".to_owned()
            }
            (done, "") if done.is_empty() => "until then it had changed nothing".to_owned(),
            (done, running) if done.is_empty() => format!("it was {running}"),
            (done, "") => format!("until then it had {done}"),
            (done, running) => format!("until then it had {done}, and was {running}"),
        };
        format!("the last turn was cut off; {what}")
    }
}

/// What a call did that has run, in words behind "it had"; `None` if it only read.
fn effect(call: &ToolCall) -> Option<String> {
    let tool = Declaration::of_ours(&call.name);
    let words = match tool.map(|tool| &tool.behaviour) {
        Some(Behaviour::Reads | Behaviour::Searches | Behaviour::ReadsRepository) => return None,
        Some(Behaviour::Edits)
            if tool.is_some_and(|tool| {
                tool.name == built_in::WRITE_FILE.name || tool.name == ours::CREATE_FILE.name
            }) =>
        {
            "written {file_path}"
        }
        Some(Behaviour::Edits) => "edited {file_path}",
        Some(Behaviour::RunsCommand | Behaviour::RunsInBackground) => "run {command}",
        _ => {
            return Some(Wording::of(&call.name).has_already)
                .map(|words| Wording::filled(&words, &call.args));
        }
    };
    Some(Wording::filled(words, &call.args))
}
