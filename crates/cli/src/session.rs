use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use headstart_agent::Conversation;
use headstart_budget::policy::Allowance;
use headstart_followup_state::Suggestions;
use headstart_forked_query::{Message, Model, ModelError, SuppressionReason, Usage, generate_candidates};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{Conflict, Tree, WorkspacePath};
use headstart_speculation::{
    Ending, Engine, Events, Host, Limits, News, Speculation, StartError, Transcript, Turn,
};
use headstart_tool_gate::{ApprovalMode, GateContext};
use tokio::sync::mpsc;

use crate::host::{AskStep, NativeHost};
use crate::index::Upkeep;
use crate::offered::Commits;
use crate::remote::Places;
use crate::rules::Whose;

/// A conversation about a workspace, the model that answers, and the engine that works.
pub(crate) struct Session {
    conversation: Conversation,
    engine: Engine,
    host: Arc<NativeHost>,
    model: Arc<dyn Model>,
    index: Option<Arc<Upkeep>>,
    /// The workspace, and the folder of all state.
    place: (PathBuf, Option<PathBuf>),
    views: Places,
}

/// The answer to the question what comes next.
pub(crate) struct Guess {
    /// Best first and never empty.
    pub(crate) suggestions: Result<Suggestions, NoGuess>,
    pub(crate) tokens: Usage,
}

/// Why there is nothing to suggest.
#[derive(Debug)]
pub(crate) struct NoGuess {
    /// The code, as in the ledger.
    pub(crate) reason: String,
    /// Where the question failed.
    pub(crate) error: Option<ModelError>,
}

impl NoGuess {
    /// Without an error.
    pub(crate) fn because(reason: &str) -> Self {
        Self { reason: reason.to_owned(), error: None }
    }
}

impl From<SuppressionReason> for NoGuess {
    fn from(why: SuppressionReason) -> Self {
        let reason = why.as_str().to_owned();
        let error = match why {
            SuppressionReason::QueryFailed(error) => Some(error),
            _ => None,
        };
        Self { reason, error }
    }
}

impl Session {
    pub(crate) fn new(
        engine: Engine,
        host: Arc<NativeHost>,
        model: Arc<dyn Model>,
        model_name: String,
        system: String,
        history: Vec<Message>,
    ) -> Self {
        let Engine { toolbox, workspace, .. } = &engine;
        let conversation = Conversation::new(system, toolbox.schemas(), model_name, Arc::clone(workspace));
        let engine = Engine { workspace: conversation.workspace(), ..engine };
        let conversation = conversation.after(history);
        Self {
            conversation,
            engine,
            host,
            model,
            index: None,
            place: (PathBuf::new(), None),
            views: Places::default(),
        }
    }

    /// In this workspace, with this folder of all state.
    pub(crate) fn at(self, workspace: &Path, state: Option<&Path>) -> Self {
        Self { place: (workspace.to_owned(), state.map(Path::to_owned)), ..self }
    }

    /// The commits of work that could not be taken, because git was used meanwhile.
    pub(crate) fn commits(
        &self,
        id: &str,
        git: Option<&GitChange>,
        conflicts: &[Conflict],
    ) -> Option<Commits> {
        let (workspace, state) = &self.place;
        Commits::of(workspace, state.as_deref(), (id, git), conflicts)
    }

    /// Whose index begins with the first turn.
    pub(crate) fn with_index(self, index: Option<Arc<Upkeep>>) -> Self {
        Self { index, ..self }
    }

    /// Whose work ahead runs commands in these.
    pub(crate) fn with_views(self, views: Places) -> Self {
        Self { views, ..self }
    }

    /// Work ahead was accepted: the next views begin with other files.
    pub(crate) fn warm_views(&self) {
        self.views.warm_when_idle(self.host.gate_context().deny);
    }

    /// What the index and the project's rules have to tell the user, each once.
    pub(crate) fn notices(&self) -> Vec<String> {
        let of_index = self.index.iter().flat_map(|index| index.notices());
        of_index.chain(self.host.rules_notices()).collect()
    }

    /// What the provider calls the model of the conversation.
    pub(crate) fn model_name(&self) -> &str {
        self.conversation.model()
    }

    fn news(&self) -> News {
        // A tree on a disk answers at once.
        self.conversation.news().now_or_never().unwrap_or_default()
    }

    /// The beginning of a turn: the prompt, after what the model has to know first.
    pub(crate) fn open(&mut self, prompt: &str) -> Transcript {
        let news = self.news();
        match self.beside_prompt(prompt) {
            Some(beside) => self.conversation.open(&format!("{prompt}\n\n{beside}"), news),
            None => self.conversation.open(prompt, news),
        }
    }

    /// What the model reads with a prompt.
    fn beside_prompt(&self, prompt: &str) -> Option<String> {
        let tree: Arc<dyn Tree> = Arc::clone(&self.engine.workspace) as _;
        // A tree on a disk answers at once.
        self.host.rules_beside(prompt, Whose::Users, self.conversation.params(), &tree).now_or_never()?
    }

    /// The model has to know this before the user's next words.
    pub(crate) fn note(&mut self, note: String) {
        self.conversation.set_note(note);
    }

    /// Whether there is something that work which ran ahead did not know.
    pub(crate) fn has_to_tell(&self) -> bool {
        self.conversation.has_to_tell(&self.news())
    }

    /// What is at a path of the workspace; nothing where that is no file, or cannot be read.
    pub(crate) fn read(&self, path: &WorkspacePath) -> Option<Vec<u8>> {
        // A tree on a disk answers at once.
        self.engine.workspace.read(path).now_or_never()?.ok()
    }

    /// What the turn that begins tells the model besides the prompt, for the user: undone changes, rules. Empty where that is nothing.
    pub(crate) fn told(&self) -> String {
        let undone = Some(self.conversation.telling().for_user()).filter(|undone| !undone.is_empty());
        undone.into_iter().chain(self.host.rules_notices()).collect::<Vec<_>>().join("\n")
    }

    /// A foreground turn over a transcript: a new one, or one that an accept gave.
    pub(crate) fn turn(&self, transcript: Transcript) -> (Turn, Events) {
        let limits = self.foreground_limits();
        // After the first prompt, so that the beginning of a chat waits for nothing.
        if let Some(index) = &self.index {
            index.begin();
        }
        self.engine.turn(Arc::clone(&self.model), self.conversation.request(), transcript, limits)
    }

    /// Ends a turn: what was done is part of the conversation from now on, wherever the turn stopped.
    pub(crate) fn conclude(&mut self, transcript: Transcript, ending: &Ending) {
        self.conversation.conclude(transcript, ending);
    }

    /// Asks what the user may want next, for up to so many candidates.
    pub(crate) fn suggestion_query(&self, candidates: usize) -> impl Future<Output = Guess> + Send + use<> {
        let background = self.engine.background.clone();
        let params = self.conversation.params().clone();
        let guards = self.conversation.guards(self.host.gate_context().mode == ApprovalMode::Plan);
        async move {
            match generate_candidates(&background, &params, &[], guards, candidates).await {
                Ok(generated) => Guess { suggestions: Ok(generated.suggestions), tokens: generated.usage },
                Err(suppressed) => {
                    Guess { suggestions: Err(suppressed.reason.into()), tokens: suppressed.usage }
                }
            }
        }
    }

    /// Runs a prompt ahead, on the runtime, for no more than the allowance if there is one.
    pub(crate) fn speculate(
        &self,
        id: String,
        prompt: &str,
        allowance: Option<Allowance>,
    ) -> Result<(Speculation, Events), StartError> {
        let limits = allowance.map_or(self.engine.limits, |allowance| allowance.under(self.engine.limits));
        let engine = Engine { limits, ..self.engine.clone() };
        let (speculation, driver, events) = engine.start(id, self.conversation.params(), prompt)?;
        self.views.prepare();
        tokio::spawn(driver);
        Ok((speculation, events))
    }

    /// What work ahead may spend at most.
    pub(crate) fn limits(&self) -> Limits {
        self.engine.limits
    }

    /// From now on whoever holds the receiver is asked whether the next step runs on top of work that runs ahead.
    pub(crate) fn asked_steps(&self) -> mpsc::UnboundedReceiver<AskStep> {
        self.host.asked_steps()
    }

    /// Another approval mode from now on.
    pub(crate) fn set_mode(&self, mode: ApprovalMode) {
        self.host.set_rules(GateContext { mode, ..self.host.gate_context() });
    }

    /// Of how many answers what another model gave for itself is left out of turns.
    pub(crate) fn left_out(&self) -> usize {
        self.conversation.left_out()
    }

    /// The same of work ahead.
    pub(crate) fn left_out_ahead(&self) -> usize {
        self.conversation.left_out_ahead(&self.engine.background)
    }

    /// Forgets the conversation.
    pub(crate) fn reset(&mut self) {
        self.conversation.clear();
    }

    /// A foreground turn has the user at the keyboard: it is stopped by them, not by a budget. These limits only
    /// end a model that runs in circles.
    fn foreground_limits(&self) -> Limits {
        Limits {
            turns: 200,
            messages: 1_000,
            tokens: u64::MAX,
            time: Duration::from_secs(24 * 60 * 60),
            ..self.engine.limits
        }
    }
}
