use std::sync::Arc;

use headstart_followup_state::Suggestion;
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Message, Model, ModelRequest, Role, ToolSchema,
};
use headstart_speculation::{Engine, Ending, Events, Limits, Speculation, StartError, Transcript, Turn};

/// How the model is told what it is and how to work here.
const SYSTEM: &str = "You are a coding agent. You work in the user's project through tools.\n\
    Look before you change: read a file before you edit it, search before you guess. \
    Make the smallest change that does what was asked, in the style of the code around it. \
    Paths are relative to the project. A tool's error tells what to do differently.\n\
    When you are done, say in one to three sentences what you did, and what is left to do if anything is.";

/// A foreground turn has the user at the keyboard: it is stopped by them, not by a budget. These limits only end
/// a model that runs in circles.
fn foreground_limits(engine: &Engine) -> Limits {
    Limits {
        turns: 200,
        messages: 1_000,
        tokens: u64::MAX,
        time: std::time::Duration::from_secs(24 * 60 * 60),
        ..engine.limits
    }
}

/// A conversation about a workspace: its history, the model that answers, and the engine that works.
pub(crate) struct Session {
    pub(crate) engine: Engine,
    model: Arc<dyn Model>,
    model_name: String,
    tools: Vec<ToolSchema>,
    history: Vec<Message>,
    saved: Option<CacheSafeParams>,
    last_turn_failed: bool,
}

impl Session {
    pub(crate) fn new(engine: Engine, model: Arc<dyn Model>, model_name: String, history: Vec<Message>) -> Self {
        let tools = engine.toolbox.schemas();
        let mut session =
            Self { engine, model, model_name, tools, history, saved: None, last_turn_failed: false };
        session.save();
        session
    }

    /// What is asked in a turn: the whole conversation so far.
    fn request(&self) -> ModelRequest {
        ModelRequest {
            model: self.model_name.clone(),
            system: Some(SYSTEM.into()),
            tools: self.tools.clone(),
            messages: self.history.clone(),
            thinking: true,
            response_schema: None,
            max_output_tokens: None,
        }
    }

    /// A foreground turn over a transcript: a new one, or one that an accept gave.
    pub(crate) fn turn(&self, transcript: Transcript) -> (Turn, Events) {
        let limits = foreground_limits(&self.engine);
        self.engine.turn(Arc::clone(&self.model), self.request(), transcript, limits)
    }

    /// Ends a turn: what was done is part of the conversation from now on, wherever the turn stopped.
    ///
    /// A prompt that got no answer at all is taken back, so that the conversation goes on where it was.
    pub(crate) fn conclude(&mut self, transcript: Transcript, ending: &Ending) {
        self.last_turn_failed = *ending != Ending::Completed;
        let answered = transcript.messages.iter().any(|message| message.role == Role::Model);
        if answered {
            self.history.extend(transcript.messages);
        }
        self.save();
    }

    /// The suggestion for what the user may ask next; `Err` holds the code of why there is none.
    pub(crate) async fn suggest(&self) -> Result<Suggestion, String> {
        let Some(params) = &self.saved else {
            return Err("early_conversation".into());
        };
        let guards = Guards { mode: self.engine.host.gate_context().mode, failed: self.last_turn_failed };
        todo!()
    }

    /// Runs a suggestion ahead, on the runtime.
    pub(crate) fn speculate(&self, id: String, prompt: &str) -> Result<(Speculation, Events), StartError> {
        let params = self.saved.as_ref().ok_or(StartError::Empty)?;
        let (speculation, driver, events) = self.engine.start(id, params, prompt)?;
        tokio::spawn(driver);
        Ok((speculation, events))
    }

    pub(crate) fn history(&self) -> &[Message] {
        &self.history
    }

    /// Forgets the conversation.
    pub(crate) fn reset(&mut self) {
        self.history.clear();
        self.saved = None;
        self.last_turn_failed = false;
    }

    fn save(&mut self) {
        self.saved = Some(CacheSafeParams::new(Some(SYSTEM.into()), self.tools.clone(), &self.history, &self.model_name));
    }
}
