use futures::channel::mpsc;
use headstart_forked_query::{ToolCall, ToolResult};
use headstart_overlay_fs::WorkspacePath;
use headstart_toolbox::Tier;
use serde::Serialize;

use crate::Checked;

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
    /// A call has its result.
    ToolResult {
        /// The result, as the model will read it.
        result: ToolResult,
    },
}

/// The events of one run, in order. The stream ends when the run does.
pub type Events = mpsc::UnboundedReceiver<Event>;

/// Sends events to whoever listens; nobody listening is fine.
#[derive(Clone)]
pub(crate) struct EventSender(mpsc::UnboundedSender<Event>);

impl EventSender {
    pub(crate) fn channel() -> (Self, Events) {
        let (sender, receiver) = mpsc::unbounded();
        (Self(sender), receiver)
    }

    pub(crate) fn send(&self, event: Event) {
        // A closed channel means that nobody watches; the work goes on all the same.
        let _ = self.0.unbounded_send(event);
    }

    /// Ends the stream.
    pub(crate) fn close(&self) {
        self.0.close_channel();
    }
}
