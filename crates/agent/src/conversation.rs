use std::sync::Arc;

use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Guards, Message, ModelRequest, Role, ToolSchema, TurnEnd,
};
use headstart_overlay_fs::Workspace;
use headstart_speculation::{Attachments, Ending, Transcript, UndoReport, UndoWatch};

/// What was said, and from what a turn begins.
///
/// A turn is [`open`](Self::open), a run of the engine over [`request`](Self::request), and
/// [`conclude`](Self::conclude). History only grows, so each request begins with the bytes of the one before it, which
/// is why the prefix cache of the provider is hit.
///
/// ```
/// use std::sync::Arc;
///
/// use futures::executor::block_on;
/// use headstart_agent::Conversation;
/// use headstart_forked_query::{Message, Part, Role};
/// use headstart_overlay_fs::MemoryTree;
/// use headstart_speculation::{Attachments, Ending};
///
/// let tree = Arc::new(MemoryTree::new());
/// let mut conversation = Conversation::new("You are a coding agent.", Vec::new(), "model", tree);
/// let undo_report = block_on(conversation.undo_report());
/// let mut transcript = conversation.open("what is this?", &Attachments::default(), undo_report);
/// // The engine's part: here the model answers with one word.
/// transcript.messages.push(Message { role: Role::Model, parts: vec![Part::Text { text: "Nothing.".into() }] });
/// conversation.conclude(transcript, &Ending::Completed);
/// assert_eq!(conversation.history().len(), 2);
/// ```
pub struct Conversation {
    system: String,
    tools: Vec<ToolSchema>,
    model: String,
    history: Vec<Message>,
    params: CacheSafeParams,
    last_turn: TurnEnd,
    watch: Arc<UndoWatch>,
    /// What the running turn tells the model of undone changes.
    announced: UndoReport,
    /// What else the model has to know before the user's next words.
    note: Option<String>,
    /// What else the running turn tells the model.
    announced_note: Option<String>,
}

impl Conversation {
    /// A conversation in which nothing was said yet. It has this system instruction and these tools; `model` is the
    /// name of the model for its provider.
    pub fn new(
        system: impl Into<String>,
        tools: Vec<ToolSchema>,
        model: impl Into<String>,
        workspace: Arc<dyn Workspace>,
    ) -> Self {
        let (system, model) = (system.into(), model.into());
        Self {
            params: CacheSafeParams::new(Some(system.clone()), tools.clone(), &[], &model),
            system,
            tools,
            model,
            history: Vec::new(),
            last_turn: TurnEnd::Completed,
            watch: Arc::new(UndoWatch::new(workspace)),
            announced: UndoReport::default(),
            note: None,
            announced_note: None,
        }
    }

    /// Continues after these messages.
    #[must_use]
    pub fn after(mut self, history: Vec<Message>) -> Self {
        self.history = history;
        self.fork();
        self
    }

    /// The workspace for the engine. It follows what is committed through it, so that the model learns what its user
    /// takes back.
    pub fn workspace(&self) -> Arc<UndoWatch> {
        Arc::clone(&self.watch)
    }

    /// The name of the model for its provider.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Sets the model that answers from now on.
    pub fn set_model(&mut self, model: &str) {
        model.clone_into(&mut self.model);
        self.fork();
    }

    /// The tools that are offered.
    pub(crate) fn tools(&self) -> &[ToolSchema] {
        &self.tools
    }

    /// Offers other tools from now on. A provider's cache of this conversation is lost, because the beginning of the
    /// requests changes.
    pub fn set_tools(&mut self, tools: Vec<ToolSchema>) {
        self.tools = tools;
        self.fork();
    }

    /// What was said, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// What the user has undone of the work in the conversation, as far as the model does not know it yet.
    pub async fn undo_report(&self) -> UndoReport {
        self.watch.undo_report().await
    }

    /// Adds something that the model has to know before the user's next words.
    pub fn add_note(&mut self, note: &str) {
        self.note = Some(joined(self.note.take(), note));
    }

    /// In words, what the model has to know before anything else is said; empty if there is nothing. `undo_report` is
    /// what is undone by now. Work that began with another preface builds on what is not true any more.
    pub fn preface(&self, undo_report: &UndoReport) -> String {
        preface(self.note.as_deref(), undo_report)
    }

    /// What else the model has to know besides undone changes.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The [`preface`](Self::preface) as one note, from which a later conversation can go on.
    pub(crate) fn pending_note(&self, undo_report: &UndoReport) -> String {
        let undone = undo_report.text();
        let parts = self.note.as_deref().into_iter().chain([undone.as_str()]);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Begins a turn: the prompt, preceded by what the model has to know first and followed by what it reads beside the
    /// prompt ([`Host::prompt_attachments`](headstart_speculation::Host::prompt_attachments)).
    pub fn open(&mut self, prompt: &str, attachments: &Attachments, undo_report: UndoReport) -> Transcript {
        let preface = self.preface(&undo_report);
        let prompt = if preface.is_empty() { prompt.to_owned() } else { format!("{preface}\n\n{prompt}") };
        self.announce(undo_report);
        Transcript::with_attachments(&prompt, attachments)
    }

    /// Notes that work is taken whose model was told the [`preface`](Self::preface) with these news: what it was told
    /// counts as told by this turn.
    pub fn announce(&mut self, undo_report: UndoReport) {
        self.announced = undo_report;
        self.announced_note = self.note.take();
    }

    /// Notes that nothing came of the turn that would have told the preface: the next turn tells it.
    pub fn retract_announcement(&mut self) {
        self.announced = UndoReport::default();
        if let Some(before) = self.announced_note.take() {
            let later = self.note.take();
            self.note = Some(later.into_iter().fold(before, |before, later| joined(Some(before), &later)));
        }
    }

    /// What the running turn tells the model of undone changes.
    pub fn announced(&self) -> &UndoReport {
        &self.announced
    }

    /// Ends a turn: what was done is part of the conversation from now on, wherever the turn stopped.
    ///
    /// A prompt that got no answer at all is taken back, so that the conversation continues from where it was.
    pub fn conclude(&mut self, transcript: Transcript, ending: &Ending) {
        self.last_turn = match ending {
            Ending::Completed => TurnEnd::Completed,
            Ending::Aborted => TurnEnd::Aborted,
            _ => TurnEnd::Failed,
        };
        if transcript.messages.iter().any(|message| message.role == Role::Model) {
            return self.absorb(transcript.messages);
        }
        self.retract_announcement();
    }

    /// Makes a part of the running turn part of the conversation already, so that it can be made shorter together with
    /// the rest.
    pub fn absorb(&mut self, messages: Vec<Message>) {
        let announced = std::mem::take(&mut self.announced);
        self.watch.acknowledge(&announced);
        self.announced_note = None;
        self.history.extend(messages);
        self.fork();
    }

    /// Replaces the history with a shorter one that says the same.
    pub fn replace(&mut self, history: Vec<Message>) {
        self.history = history;
        self.fork();
    }

    /// The request of a turn: the whole conversation so far.
    pub fn request(&self) -> ModelRequest {
        ModelRequest {
            model: self.model.clone(),
            system: Some(self.system.clone()),
            tools: self.tools.clone(),
            messages: self.history.clone(),
            thinking: true,
            response_schema: None,
            max_output_tokens: None,
        }
    }

    /// The request from which questions for a suggestion and work ahead begin.
    pub fn params(&self) -> &CacheSafeParams {
        &self.params
    }

    /// What may keep a question for a suggestion from being asked.
    pub fn guards(&self, plan_mode: bool) -> Guards {
        Guards { turn: self.last_turn, plan_mode }
    }

    /// In how many answers the opaque part of another model is left out of turns.
    pub fn left_out(&self) -> usize {
        let opaque = self.history.iter().filter_map(Message::opaque);
        opaque.filter(|opaque| opaque.model != self.model).count()
    }

    /// The same count for work ahead, which `background` does.
    pub fn left_out_ahead(&self, background: &BackgroundModel) -> usize {
        self.params.left_out(background)
    }

    /// Forgets what was said, and what the user undid of it.
    pub fn clear(&mut self) {
        self.history.clear();
        self.watch.forget_all();
        self.announced = UndoReport::default();
        (self.note, self.announced_note) = (None, None);
        self.last_turn = TurnEnd::Completed;
        self.fork();
    }

    fn fork(&mut self) {
        let system = Some(self.system.clone());
        self.params = CacheSafeParams::new(system, self.tools.clone(), &self.history, &self.model);
    }
}

/// The text of [`Conversation::preface`].
pub(crate) fn preface(note: Option<&str>, undo_report: &UndoReport) -> String {
    let note = note.map(|note| format!("[Note: {note}]"));
    let parts: Vec<_> =
        note.into_iter().chain([undo_report.note()]).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn joined(before: Option<String>, note: &str) -> String {
    before.map(|before| before + "\n").unwrap_or_default() + note
}

#[cfg(test)]
mod tests;
