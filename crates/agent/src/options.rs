use std::sync::Arc;

use headstart_budget::Metering;
use headstart_budget::policy::Tariff;
use headstart_context::Window;
use headstart_forked_query::{BackgroundModel, Model};
use headstart_speculation::Engine;

use crate::ports::{LedgerStore, Runtime, SessionStore};
use crate::session::Session;

/// What becomes of a turn whose user has said no to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterDecline {
    /// The model is told, and goes on.
    #[default]
    Continue,
    /// It ends there, as if it was interrupted. A no that says why goes to the model all the same.
    Stop,
}

/// What a conversation is to be like.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct AgentOptions {
    /// The system instruction.
    pub system: String,
    /// The name of the model for its provider.
    pub model: String,
    /// What was said before, if this conversation goes on with one.
    pub restore: Option<Session>,
    /// What the model sees at once, where that is known. Where it is not, a conversation is made shorter once its provider says that it is too long.
    pub window: Option<Window>,
    /// What this conversation knows of costs, and its policy.
    pub metering: Metering,
    /// Whether the next prompt is suggested.
    pub suggestions: bool,
    /// Whether suggestions run ahead.
    pub speculation: bool,
    /// How many suggestions are asked for, best first.
    pub candidates: usize,
    /// How many of them may run ahead at the same time.
    pub parallel: usize,
    /// Whether a model of background work that is not the conversation's own gives it a title. Not where what models are asked is recorded or played back.
    pub titles: bool,
    /// Whether somebody is there to answer questions. If not, what needs consent is declined and told.
    pub attended: bool,
    /// What becomes of a turn whose user has said no to a call.
    pub after_decline: AfterDecline,
    /// Whether [`Update::events`](crate::Update::events) has the events of turns, for whoever writes them down. They are kept until they are taken.
    pub events: bool,
    /// Names this conversation: no other one has the same id. Those of its suggestions begin with it.
    pub id: String,
}

/// The models that are asked from some moment on.
pub struct UsedModels {
    /// The name of the conversation's model for its provider.
    pub name: String,
    /// The model of the user's turns.
    pub model: Arc<dyn Model>,
    /// The model of the background work.
    pub background: BackgroundModel,
    /// What the conversation's model sees at once, where that is known.
    pub window: Option<Window>,
    /// What they cost.
    pub tariff: Tariff,
}

/// What a conversation works with.
#[derive(Clone)]
pub struct Ports {
    /// Gate, tools, workspace, the model of the background work, and a host. Its `consent` and `step_above` are not asked: a question is in the
    /// [`View`](crate::View), and the policy answers for steps.
    pub engine: Engine,
    /// The model of the user's turns.
    pub model: Arc<dyn Model>,
    /// Tasks, the time of day, the machine.
    pub runtime: Arc<dyn Runtime>,
    /// Where costs are kept.
    pub ledger: Arc<dyn LedgerStore>,
    /// Where the conversation is kept, if it is.
    pub session: Option<Arc<dyn SessionStore>>,
}
