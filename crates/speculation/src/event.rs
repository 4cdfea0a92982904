use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::mpsc;
use headstart_forked_query::{ToolCall, ToolResult};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSummary, LeftOut, WorkspacePath};
use headstart_toolbox::{ContextItem, PartialOutput, Tier};
use serde::Serialize;

use crate::{CallInput, CallState, CallStates, CheckResult, Origin};

/// What happens during a run, for a host that shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// Words of the model, as they arrive.
    Text {
        /// The words.
        text: String,
    },
    /// A call whose result is the next to come: it runs, or is about to. Calls and results come in pairs, in the order
    /// of the answer, even if several calls run at the same time.
    ToolCall {
        /// The call, as the model wrote it.
        call: ToolCall,
    },
    /// A command ran in a view; its result follows. Nothing in the workspace has changed.
    ShadowRan {
        /// The command line.
        command: String,
        /// The exit code; `None` if a signal or a limit ended the command.
        #[serde(rename = "exitCode")]
        exit_code: Option<i32>,
        /// How long it took.
        millis: u64,
        /// On how many paths the staged content has changed.
        staged: usize,
        /// Folders of build output that the command wrote to.
        warm: Vec<WorkspacePath>,
        /// What the commands of the work so far wrote or removed and an accept does not bring.
        #[serde(rename = "notKept", skip_serializing_if = "Vec::is_empty")]
        not_kept: Vec<LeftOut>,
        /// What the whole work has done to the repository, in a few words (`1 commit on main`), if this command did
        /// something to it.
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<String>,
        /// How often the command tried to use a network.
        network: u64,
        /// How many tests passed and failed, if the output says so in a form that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        tests: Option<String>,
        /// What isolated the command from the machine.
        view: Tier,
    },
    /// The project's own check ran over completed work. If it failed, the work may go on after this.
    Checked(CheckResult),
    /// What turns had staged was written, because the next call runs on the machine and the user agreed to both.
    Written {
        /// The files.
        changes: Vec<ChangeSummary>,
        /// What was done to the git repository.
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<Box<GitChange>>,
        /// Those of the files that also contain an edit of the user.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        merged: Vec<WorkspacePath>,
        /// What was left out.
        #[serde(rename = "notKept", skip_serializing_if = "Vec::is_empty")]
        not_kept: Vec<LeftOut>,
    },
    /// What turns have staged could not be kept beyond the process.
    NotKept {
        /// Why, in words.
        problem: String,
    },
    /// The state of a call has changed. This is told only if the host asks for it
    /// ([`Host::reports_call_states`](crate::Host::reports_call_states)), and at the moment when it happens: for calls
    /// that run at the same time, that may be between other events.
    CallState(CallState),
    /// What the command of a call has printed so far. This is told under the same condition, at most every 100 ms, and
    /// is no part of the conversation.
    CallOutput {
        /// The call's id.
        id: String,
        /// The end of the output, at most 4 KiB.
        end: String,
    },
    /// A call has its result.
    ToolResult {
        /// The result, as the model will read it.
        result: ToolResult,
        /// The parts of the result, if they have names and places.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        items: Vec<ContextItem>,
    },
}

/// The events of one run, in order. The stream ends when the run does.
pub type Events = mpsc::UnboundedReceiver<Event>;

/// Sends events. It is no error if nobody receives them.
#[derive(Clone)]
pub(crate) struct EventSender {
    sender: mpsc::UnboundedSender<Event>,
    /// The states of the run's calls, if the host wants to know them.
    states: Option<Arc<Mutex<CallStates>>>,
}

impl EventSender {
    /// `reports_call_states` says whose calls they are; `None` if their states are not told.
    pub(crate) fn channel(origin: Option<Origin>) -> (Self, Events) {
        let (sender, receiver) = mpsc::unbounded();
        let states = origin.map(|origin| Arc::new(Mutex::new(CallStates::new(origin))));
        (Self { sender, states }, receiver)
    }

    /// A sender whose events nobody receives.
    pub(crate) fn discarding() -> Self {
        Self::channel(None).0
    }

    pub(crate) fn send(&self, event: Event) {
        // If the channel is closed, nobody watches; the work goes on all the same.
        let _ = self.sender.unbounded_send(event);
    }

    /// Takes in something that happens to calls. An input that does not fit the state of its call is not told.
    pub(crate) fn report_call(&self, now_ms: impl FnOnce() -> u64, input: impl FnOnce() -> CallInput) {
        let Some(states) = &self.states else { return };
        let changed = states.lock().unwrap_or_else(PoisonError::into_inner).handle(now_ms(), input());
        for state in changed.unwrap_or_default() {
            self.send(Event::CallState(state));
        }
    }

    /// Whether the host wants to know the states of calls.
    pub(crate) fn reports_calls(&self) -> bool {
        self.states.is_some()
    }

    /// Receives what the command of a call prints, if the host wants to know it.
    pub(crate) fn output_reporter(&self, id: &str) -> Option<CallOutputReporter> {
        self.states.as_ref().map(|_| CallOutputReporter { id: id.to_owned(), events: self.clone() })
    }

    /// Ends the stream.
    pub(crate) fn close(&self) {
        self.report_call(|| 0, || CallInput::RunEnded);
        self.sender.close_channel();
    }
}

/// Tells what the command of a call prints.
pub(crate) struct CallOutputReporter {
    id: String,
    events: EventSender,
}

impl PartialOutput for CallOutputReporter {
    fn on_output(&self, end: &str) {
        self.events.send(Event::CallOutput { id: self.id.clone(), end: end.to_owned() });
    }
}
