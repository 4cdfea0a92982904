use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::mpsc;
use headstart_forked_query::{ToolCall, ToolResult};
use headstart_overlay_fs::WorkspacePath;
use headstart_toolbox::{ContextItem, PartialOutput, Tier};
use serde::Serialize;

use crate::{CallInput, CallState, CallStates, Checked, Origin};

/// What happens while a run is at work, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// Words of the model, as they come.
    Text {
        /// The words.
        text: String,
    },
    /// A call is the next to get its result: it runs, or is about to. Calls and results come in pairs, in the order of the
    /// answer, also where several ran at the same time.
    ToolCall {
        /// The call, as the model wrote it.
        call: ToolCall,
    },
    /// A command ran in a view; its result follows. Nothing of the workspace has changed.
    ShadowRan {
        /// The command line.
        command: String,
        /// Its exit code; nothing where a signal or a limit ended it.
        #[serde(rename = "exitCode")]
        exit_code: Option<i32>,
        /// How long it took.
        millis: u64,
        /// Of how many paths what is staged changed.
        staged: usize,
        /// Folders of build output that it wrote to.
        warm: Vec<WorkspacePath>,
        /// What the work as a whole did to the repository, in a few words (`1 commit on main`), where this command did something to it.
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<String>,
        /// How often it looked for a network.
        network: u64,
        /// How many tests passed and failed, where it says so in a form that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        tests: Option<String>,
        /// What kept it apart from the machine.
        view: Tier,
    },
    /// The project's own check ran over completed work. Where it failed the work may go on after it.
    Checked(Checked),
    /// A call is in another state. Told where the host asks for it ([`Host::tells_calls`](crate::Host::tells_calls)), and as it happens: of calls that run
    /// at the same time also in between the others of these events.
    CallState(CallState),
    /// What the command of a call has printed so far, told likewise, at most every 100 ms. It is no part of the conversation.
    CallOutput {
        /// The call's id.
        id: String,
        /// The end of it, 4 KiB at most.
        end: String,
    },
    /// A call has its result.
    ToolResult {
        /// The result, as the model will read it.
        result: ToolResult,
        /// The things of which it is made, where they have names and places.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        items: Vec<ContextItem>,
    },
}

/// The events of one run, in order. The stream ends when the run does.
pub type Events = mpsc::UnboundedReceiver<Event>;

/// Sends events to whoever listens; nobody listening is fine.
#[derive(Clone)]
pub(crate) struct EventSender {
    sender: mpsc::UnboundedSender<Event>,
    /// The states of the run's calls, where somebody wants to know them.
    states: Option<Arc<Mutex<CallStates>>>,
}

impl EventSender {
    /// `tells_calls`: whose calls they are, where their states are told.
    pub(crate) fn channel(tells_calls: Option<Origin>) -> (Self, Events) {
        let (sender, receiver) = mpsc::unbounded();
        let states = tells_calls.map(|origin| Arc::new(Mutex::new(CallStates::new(origin))));
        (Self { sender, states }, receiver)
    }

    /// Nobody listens.
    pub(crate) fn to_nobody() -> Self {
        Self::channel(None).0
    }

    pub(crate) fn send(&self, event: Event) {
        // A closed channel means that nobody watches; the work goes on all the same.
        let _ = self.sender.unbounded_send(event);
    }

    /// Something happens to calls. What does not fit their states is told to nobody.
    pub(crate) fn call(&self, now_ms: impl FnOnce() -> u64, input: impl FnOnce() -> CallInput) {
        let Some(states) = &self.states else { return };
        let told = states.lock().unwrap_or_else(PoisonError::into_inner).handle(now_ms(), input());
        for state in told.unwrap_or_default() {
            self.send(Event::CallState(state));
        }
    }

    /// Whether somebody wants to know the states of calls.
    pub(crate) fn is_watched(&self) -> bool {
        self.states.is_some()
    }

    /// Hears what the command of a call prints, where somebody wants to know it.
    pub(crate) fn output_of(&self, id: &str) -> Option<CallPrints> {
        self.states.as_ref().map(|_| CallPrints { id: id.to_owned(), events: self.clone() })
    }

    /// Ends the stream.
    pub(crate) fn close(&self) {
        self.call(|| 0, || CallInput::Over);
        self.sender.close_channel();
    }
}

/// Tells what the command of a call prints.
pub(crate) struct CallPrints {
    id: String,
    events: EventSender,
}

impl PartialOutput for CallPrints {
    fn printed(&self, end: &str) {
        self.events.send(Event::CallOutput { id: self.id.clone(), end: end.to_owned() });
    }
}
