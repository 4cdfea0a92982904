use std::sync::Arc;

use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Guards, Message, ModelRequest, Role, ToolSchema, TurnEnd,
};
use headstart_overlay_fs::Workspace;
use headstart_speculation::{Beside, Ending, News, Transcript, UndoWatch};

/// What was said, and what a turn begins with.
///
/// A turn is [`open`](Self::open), a run of the engine over [`request`](Self::request), and [`conclude`](Self::conclude). History only grows, so each
/// request begins with the bytes of the one before it and the provider's prefix cache is hit.
///
/// ```
/// use std::sync::Arc;
///
/// use futures::executor::block_on;
/// use headstart_agent::Conversation;
/// use headstart_forked_query::{Message, Part, Role};
/// use headstart_overlay_fs::MemoryTree;
/// use headstart_speculation::{Beside, Ending};
///
/// let tree = Arc::new(MemoryTree::new());
/// let mut conversation = Conversation::new("You are a coding agent.", Vec::new(), "model", tree);
/// let news = block_on(conversation.news());
/// let mut transcript = conversation.open("what is this?", &Beside::default(), news);
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
    /// What the turn that runs tells the model of undone changes.
    telling: News,
    /// What else the model has to know before the user's next words.
    note: Option<String>,
    /// The same, that the turn which runs tells.
    telling_note: Option<String>,
}

impl Conversation {
    /// A conversation in which nothing was said yet, with this system instruction, these tools, and this name of the model for its provider.
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
            telling: News::default(),
            note: None,
            telling_note: None,
        }
    }

    /// One that goes on after these messages.
    #[must_use]
    pub fn after(mut self, history: Vec<Message>) -> Self {
        self.history = history;
        self.fork();
        self
    }

    /// The workspace for the engine: what is committed through it is followed, so that the model learns what its user takes back.
    pub fn workspace(&self) -> Arc<UndoWatch> {
        Arc::clone(&self.watch)
    }

    /// What the provider calls the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Another model answers from now on.
    pub fn set_model(&mut self, model: &str) {
        model.clone_into(&mut self.model);
        self.fork();
    }

    /// The tools that are offered.
    pub(crate) fn tools(&self) -> &[ToolSchema] {
        &self.tools
    }

    /// Other tools are offered from now on. A provider that keeps the beginning of requests knows this conversation no more.
    pub fn set_tools(&mut self, tools: Vec<ToolSchema>) {
        self.tools = tools;
        self.fork();
    }

    /// What was said, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// What the user has undone of the work in the conversation, and the model does not know yet.
    pub async fn news(&self) -> News {
        self.watch.news().await
    }

    /// The model has to know this before the user's next words.
    pub fn add_note(&mut self, note: &str) {
        self.note = Some(joined(self.note.take(), note));
    }

    /// What the model has to know before anything else is said, in words; empty where there is nothing. `news`: what is undone by now. Work that
    /// was begun with other words than these rests on what does not hold any more.
    pub fn preface(&self, news: &News) -> String {
        preface(self.note.as_deref(), news)
    }

    /// What else than undone changes it has to know.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The beginning of a turn: the prompt, after what the model has to know first and before what it reads beside it
    /// ([`Host::beside_prompt`](headstart_speculation::Host::beside_prompt)).
    pub fn open(&mut self, prompt: &str, beside: &Beside, news: News) -> Transcript {
        let preface = self.preface(&news);
        let prompt = if preface.is_empty() { prompt.to_owned() } else { format!("{preface}\n\n{prompt}") };
        self.tell(news);
        Transcript::with_beside(&prompt, beside)
    }

    /// Work is taken whose model was told the [`preface`](Self::preface) with these news: from now on it is that of a turn.
    pub fn tell(&mut self, news: News) {
        self.telling = news;
        self.telling_note = self.note.take();
    }

    /// Nothing came of the turn that would have told it: the next one does.
    pub fn untell(&mut self) {
        self.telling = News::default();
        if let Some(before) = self.telling_note.take() {
            let later = self.note.take();
            self.note = Some(later.into_iter().fold(before, |before, later| joined(Some(before), &later)));
        }
    }

    /// What the turn that runs tells the model of undone changes.
    pub fn telling(&self) -> &News {
        &self.telling
    }

    /// Ends a turn: what was done is part of the conversation from now on, wherever the turn stopped.
    ///
    /// A prompt that got no answer at all is taken back, so that the conversation goes on where it was.
    pub fn conclude(&mut self, transcript: Transcript, ending: &Ending) {
        self.last_turn = match ending {
            Ending::Completed => TurnEnd::Completed,
            Ending::Aborted => TurnEnd::Aborted,
            _ => TurnEnd::Failed,
        };
        if transcript.messages.iter().any(|message| message.role == Role::Model) {
            return self.absorb(transcript.messages);
        }
        self.untell();
    }

    /// A part of the turn that runs is part of the conversation already, so that it can be made shorter with the rest.
    pub fn absorb(&mut self, messages: Vec<Message>) {
        let telling = std::mem::take(&mut self.telling);
        self.watch.told(&telling);
        self.telling_note = None;
        self.history.extend(messages);
        self.fork();
    }

    /// The conversation is this from now on: shorter, and with the same said.
    pub fn replace(&mut self, history: Vec<Message>) {
        self.history = history;
        self.fork();
    }

    /// What is asked in a turn: the whole conversation so far.
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

    /// From where questions for a suggestion and work ahead begin.
    pub fn params(&self) -> &CacheSafeParams {
        &self.params
    }

    /// What may keep a question for a suggestion from being asked.
    pub fn guards(&self, plan_mode: bool) -> Guards {
        Guards { turn: self.last_turn, plan_mode }
    }

    /// Of how many answers what another model gave for itself is left out of turns.
    pub fn left_out(&self) -> usize {
        let opaque = self.history.iter().filter_map(Message::opaque);
        opaque.filter(|opaque| opaque.model != self.model).count()
    }

    /// The same of work ahead, which this model does.
    pub fn left_out_ahead(&self, background: &BackgroundModel) -> usize {
        self.params.left_out(background)
    }

    /// Forgets what was said, and what the user undid of it.
    pub fn clear(&mut self) {
        self.history.clear();
        self.watch.forget_all();
        self.telling = News::default();
        (self.note, self.telling_note) = (None, None);
        self.last_turn = TurnEnd::Completed;
        self.fork();
    }

    fn fork(&mut self) {
        let system = Some(self.system.clone());
        self.params = CacheSafeParams::new(system, self.tools.clone(), &self.history, &self.model);
    }
}

/// See [`Conversation::preface`].
pub(crate) fn preface(note: Option<&str>, news: &News) -> String {
    let note = note.map(|note| format!("[Note: {note}]"));
    let parts: Vec<_> = note.into_iter().chain([news.note()]).filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn joined(before: Option<String>, note: &str) -> String {
    before.map(|before| before + "\n").unwrap_or_default() + note
}

#[cfg(test)]
mod tests;
