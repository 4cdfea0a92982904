//! Work that runs ahead, as the conversation keeps it.

use std::sync::Arc;

use headstart_budget::RunMeter;
use headstart_forked_query::ToolCall;
use headstart_overlay_fs::ChangeSummary;
use headstart_speculation::{CallStage, Event, Finished, Origin, Speculation, Status};
use headstart_tool_gate::{Behaviour, Declaration};
use headstart_toolbox::Toolbox;

use crate::item::CallItem;
use crate::view::WorkAheadView;

/// The work behind a suggestion, with what it has told so far.
pub(crate) struct WorkAhead {
    pub(crate) speculation: Speculation,
    /// What the work told, in order. It becomes items only when the user takes the work.
    pub(crate) reported: Vec<Event>,
    pub(crate) progress: WorkProgress,
    /// How the work ended, once there is nothing more to tell.
    pub(crate) finished: Option<Arc<Finished>>,
    pub(crate) meter: RunMeter,
}

/// What work ahead has done so far.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct WorkProgress {
    /// What its model has said since the last call.
    pub said: String,
    /// Its calls, in order.
    pub calls: Vec<Arc<CallItem>>,
    /// How many calls only looked and have their result.
    pub read_calls: usize,
    /// Whether a call did more than look.
    pub did_more_than_read: bool,
    /// The command that runs now.
    pub command: Option<ToolCall>,
    /// The staged changes.
    pub staged: Vec<ChangeSummary>,
    /// What the work did to the repository, in a few words.
    pub git: Option<String>,
    /// The result of the last tests, in words.
    pub tests: Option<String>,
}

impl WorkAhead {
    pub(crate) fn new(unix_ms: u64, speculation: Speculation) -> Self {
        let meter = RunMeter::new(unix_ms, speculation.id());
        Self { speculation, reported: Vec::new(), progress: WorkProgress::default(), finished: None, meter }
    }

    pub(crate) fn add_event(&mut self, event: Event, toolbox: &Toolbox) {
        self.progress.apply(&event, toolbox, || self.speculation.changes().summary());
        // Events about the state of a call are left out: by the time that the others are told, the call is over.
        if !matches!(event, Event::CallState(_) | Event::CallOutput { .. }) {
            self.reported.push(event);
        }
    }

    /// Takes in the end of the work: there is nothing more to tell.
    pub(crate) fn end(&mut self, finished: Arc<Finished>, toolbox: &Toolbox) {
        let pending = finished.pending_call().map(|call| call.id.clone());
        for item in self.progress.calls.iter_mut().filter(|item| item.outcome.is_none()) {
            let waits = pending.as_ref() == Some(&item.call.id);
            let item = Arc::make_mut(item);
            item.stage = if waits { CallStage::Boundary } else { CallStage::Canceled };
            item.update_sentence(toolbox);
        }
        self.finished = Some(finished);
    }

    pub(crate) fn is_running(&self) -> bool {
        self.speculation.status() == Status::Running
    }

    pub(crate) fn view(&self) -> WorkAheadView {
        WorkAheadView {
            id: self.speculation.id().to_owned(),
            progress: self.progress.clone(),
            finished: self.finished.clone(),
        }
    }
}

impl WorkProgress {
    /// Takes in an event of the work; `staged` is called if the staged changes may be other ones now.
    fn apply(&mut self, event: &Event, toolbox: &Toolbox, staged: impl FnOnce() -> Vec<ChangeSummary>) {
        match event {
            Event::Text { text } => self.said.push_str(text),
            Event::ToolCall { call } => {
                self.said.clear();
                let wording = toolbox.wording(&call.name);
                let item = CallItem::new(call.clone(), CallStage::Calling, Origin::Ahead, &wording);
                self.calls.push(Arc::new(item));
                let is_command = Declaration::is_shell(&call.name);
                self.command = is_command.then(|| call.clone());
            }
            Event::ShadowRan { tests, git, staged: changed, .. } => {
                self.git = git.clone().or(self.git.take());
                self.tests = tests.clone().or(self.tests.take());
                if 0 < *changed {
                    self.staged = staged();
                }
            }
            Event::ToolResult { result, items } => {
                self.command = None;
                let open = self.calls.iter_mut().rfind(|item| item.call.id == result.id);
                if let Some(item) = open.map(Arc::make_mut) {
                    item.end(result.outcome.clone(), items.clone(), &toolbox.wording(&result.name));
                }
                match Declaration::of_ours(&result.name) {
                    Some(tool) if tool.looks() => self.read_calls += 1,
                    // What a command of work ahead stages is told by the view in which it ran.
                    Some(tool) if tool.behaviour == Behaviour::RunsCommand => self.did_more_than_read = true,
                    _ => {
                        self.did_more_than_read = true;
                        self.staged = staged();
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
