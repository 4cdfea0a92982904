use std::sync::Arc;

use headstart_budget::Metering;
use headstart_budget::policy::Tariff;
use headstart_context::Window;
use headstart_forked_query::{BackgroundModel, Model};
use headstart_speculation::Engine;

use crate::ports::{LedgerStore, Runtime, SessionStore};
use crate::session::Session;

/// What happens to a turn after its user has declined a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterDecline {
    /// The model is told, and the turn goes on.
    #[default]
    Continue,
    /// The turn ends, as if it was interrupted. A no that gives a reason goes to the model all the same.
    Stop,
}

/// Which typed prompts take the work that ran ahead for a guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// Only the guess itself.
    Off,
    /// The guess but for case, blanks, punctuation and politeness.
    Exact,
    /// Words that ask for the same work ([`Suggestion::compare`](headstart_followup_state::Suggestion::compare)).
    #[default]
    Meaning,
}

/// The settings of a conversation.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct AgentOptions {
    /// The system instruction.
    pub system: String,
    /// The name of the model for its provider.
    pub model: String,
    /// The earlier conversation that this one continues, if there is one.
    pub restore: Option<Session>,
    /// How much the model sees at once, if that is known. If not, a conversation is made shorter once its provider says
    /// that it is too long.
    pub window: Option<Window>,
    /// What this conversation knows of costs, and its policy.
    pub metering: Metering,
    /// Whether the next prompt is suggested.
    pub suggestions: bool,
    /// Whether suggestions run ahead.
    pub speculation: bool,
    /// How many suggestions are asked for; they come best first.
    pub candidates: usize,
    /// Which typed prompts take work that ran ahead.
    pub matching: Matching,
    /// Whether the model of background work gives the conversation a title, if it is another model than that of the
    /// conversation. To be off when requests to models are recorded or played back.
    pub titles: bool,
    /// Whether somebody is there to answer questions. If not, a call that needs consent is declined, and the
    /// conversation says so.
    pub attended: bool,
    /// What happens to a turn after its user has declined a call.
    pub after_decline: AfterDecline,
    /// Whether [`Update::events`](crate::Update::events) has the events of turns, for a front end that writes them
    /// down. They are kept until they are taken.
    pub events: bool,
    /// The id of this conversation, which no other one has. The ids of its suggestions begin with it.
    pub id: String,
}

/// The models that are asked from some moment on.
pub struct ModelSettings {
    /// The name of the conversation's model for its provider.
    pub name: String,
    /// The model of the user's turns.
    pub model: Arc<dyn Model>,
    /// The model of the background work.
    pub background: BackgroundModel,
    /// How much the conversation's model sees at once, if that is known.
    pub window: Option<Window>,
    /// What the models cost.
    pub tariff: Tariff,
}

/// The ports through which a conversation reaches the program around it.
#[derive(Clone)]
pub struct Ports {
    /// Gate, tools, workspace, the model of the background work, and a host. The host's `consent` is not asked, because a
    /// question is in the [`View`](crate::View).
    pub engine: Engine,
    /// The model of the user's turns.
    pub model: Arc<dyn Model>,
    /// Tasks, the time of day, and the state of the machine.
    pub runtime: Arc<dyn Runtime>,
    /// Where costs are kept.
    pub ledger: Arc<dyn LedgerStore>,
    /// Where the conversation is kept; `None` if it is not kept.
    pub session: Option<Arc<dyn SessionStore>>,
}
