//! One session: a conversation, shown as updates of the protocol. The rules of the conversation are not here.

mod commands;
mod reports;
mod staged;
mod startup;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, NoticeSeverity, PromptResponse, RequestId,
    RequestPermissionRequest, RequestPermissionResponse, SessionId, SessionInfoUpdate, SessionUpdate,
    StopReason, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use futures::StreamExt;
use headstart_agent::{Item, ItemChange, Phase, QuestionId, Update, UserAnswer, View};
use headstart_budget::policy::Mode;
use headstart_machine::conversation::costs::tokens;
use headstart_machine::conversation::words;
use headstart_machine::conversation::{AskedUndo, Conversation, ModelChoice};
use headstart_machine::models::Models;
use headstart_machine::output::{one_line, shortened};
use headstart_speculation::{Ending, Limit};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::staged::StagedQuestions;
use self::startup::Startup;
use super::client::Client;
use super::offer::{self, Offer, SessionCommand, Unsuggested};
use super::options::{self, SessionOptions};
use super::questions::{ClientQuestion, QuestionReply};
use super::{rpc, updates};

/// The time limit for stopping. Normally everything stops much sooner.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const TITLE_CHARS: usize = 60;

/// What the client requests of a session.
pub(super) enum SessionRequest {
    /// The client may know of the session now, and `answer` is sent before anything else. With `replay` the client is
    /// told the earlier conversation after that.
    Begin {
        answer: OpeningAnswer,
        replay: bool,
    },
    Prompt {
        id: RequestId,
        text: String,
    },
    /// Cancels this request, or whatever runs if there is none.
    Cancel {
        only: Option<RequestId>,
    },
    SetMode {
        id: RequestId,
        mode: String,
    },
    SetOption {
        id: RequestId,
        option: String,
        value: Value,
    },
    /// The client answered a question.
    Answered {
        question: QuestionId,
        answer: Result<RequestPermissionResponse, Error>,
    },
    /// The client answered whether to write what is staged.
    AnsweredStaged {
        answer: Result<RequestPermissionResponse, Error>,
    },
    /// Ends the session. The sender is dropped when nothing of the session is left.
    Close {
        closed: oneshot::Sender<()>,
    },
}

/// Makes the answer to the request that opened the session, from the session's settings.
pub(super) type OpeningAnswer = Box<dyn FnOnce(&SessionOptions, bool) -> (RequestId, Value) + Send>;

/// Sends requests to a session.
#[derive(Clone)]
pub(super) struct SessionHandle(mpsc::UnboundedSender<SessionRequest>);

impl SessionHandle {
    /// Returns `false` if the session has ended.
    pub(super) fn send(&self, request: SessionRequest) -> bool {
        self.0.send(request).is_ok()
    }
}

pub(super) struct AcpSession {
    id: SessionId,
    client: Client,
    conversation: Conversation,
    models: Models,
    choice: ModelChoice,
    settings: SessionOptions,
    /// How much is done ahead if work ahead is switched on.
    ahead: Mode,
    requests: mpsc::UnboundedReceiver<SessionRequest>,
    handle: SessionHandle,
    prompt: Option<PendingPrompt>,
    open_question: Option<(ClientQuestion, JoinHandle<()>)>,
    staged: StagedQuestions,
    /// The calls that the client knows, each as it was told last.
    calls: BTreeMap<usize, ToolCallUpdate>,
    /// The calls that have not ended from the client's point of view.
    open_calls: BTreeSet<usize>,
    /// The id under which the client knows the last question about work ahead.
    about_work: Option<ToolCallId>,
    offer: Offer,
    /// The codes of the reasons for no suggestion that the client was told.
    reasons_told: BTreeSet<String>,
    /// The undo about which the user was asked.
    undo_asked: Option<AskedUndo>,
    is_titled: bool,
    startup: Startup,
    /// The number of messages from this program itself that the client was told.
    message_count: AtomicU64,
}

/// A prompt that has not been answered yet.
struct PendingPrompt {
    id: RequestId,
    /// The text that the client sent and shows.
    sent: String,
    cancelled: bool,
    ending: Option<Ending>,
    /// Whether its user was asked about what is staged.
    asked: bool,
}

impl PendingPrompt {
    fn new(id: RequestId, sent: String) -> Self {
        Self { id, sent, cancelled: false, ending: None, asked: false }
    }
}

impl AcpSession {
    pub(super) fn new(
        client: Client,
        conversation: Conversation,
        models: Models,
        choice: ModelChoice,
        settings: SessionOptions,
    ) -> (Self, SessionHandle) {
        let (requests, received) = mpsc::unbounded_channel();
        let me = SessionHandle(requests);
        let configured = conversation.settings.background.mode;
        let session = Self {
            id: SessionId::new(conversation.id.as_str()),
            client,
            models,
            choice,
            settings,
            ahead: if configured == Mode::Off { Mode::Auto } else { configured },
            requests: received,
            handle: me.clone(),
            prompt: None,
            open_question: None,
            staged: StagedQuestions::default(),
            calls: BTreeMap::new(),
            open_calls: BTreeSet::new(),
            about_work: None,
            offer: Offer::default(),
            reasons_told: BTreeSet::new(),
            undo_asked: None,
            is_titled: conversation
                .agent
                .view()
                .items
                .iter()
                .any(|item| matches!(**item, Item::Prompt { .. })),
            message_count: AtomicU64::new(0),
            startup: Startup::begin(&conversation.parts.server_tools),
            conversation,
        };
        (session, me)
    }

    /// Serves until the session is closed. Then nothing that it started still runs.
    pub(super) async fn run(mut self) {
        let closed = loop {
            let is_idle = self.conversation.agent.view().phase == Phase::Idle;
            tokio::select! {
                biased;
                request = self.requests.recv() => match request {
                    Some(SessionRequest::Close { closed }) => break Some(closed),
                    Some(request) => self.handle_request(request).await,
                    None => break None,
                },
                Some(update) = self.conversation.updates.next() => self.on_update(&update).await,
                event = self.startup.next(is_idle) => self.on_startup(event).await,
            }
        };
        if let Some((_, task)) = self.open_question.take() {
            task.abort();
        }
        self.staged.withdraw();
        let ends = async {
            self.startup.stop().await;
            self.conversation.agent.close().await;
            let _ = (&mut self.conversation.driver).await;
            self.conversation.parts.server_tools.close().await;
        };
        // A process that does not end must not keep the session open.
        let _ = tokio::time::timeout(STOP_TIMEOUT, ends).await;
        if let Some(prompt) = self.prompt.take() {
            self.client.respond(&prompt.id, Ok(PromptResponse::new(StopReason::Cancelled))).await;
        }
        for ended in [self.choice.close().await, self.models.close().await] {
            if let Err(error) = ended {
                headstart_machine::output::note(&format!("headstart: {error}"));
            }
        }
        drop(closed);
    }

    async fn handle_request(&mut self, request: SessionRequest) {
        match request {
            SessionRequest::Begin { answer, replay } => self.begin(answer, replay).await,
            SessionRequest::Prompt { id, text } => self.on_prompt(id, text).await,
            SessionRequest::Cancel { only } => self.cancel(only.as_ref()).await,
            SessionRequest::SetMode { id, mode } => {
                let set = self.set_mode("params.modeId", &mode);
                let is_set = set.is_ok();
                self.client.respond(&id, set.map(|()| json!({}))).await;
                if is_set {
                    let options = ConfigOptionUpdate::new(self.settings.options(self.switches()));
                    self.send_update(SessionUpdate::ConfigOptionUpdate(options)).await;
                }
            }
            SessionRequest::SetOption { id, option, value } => {
                let before = self.settings.mode;
                let set = self.set_option(&option, &value);
                let options = self.settings.options(self.switches());
                self.client.respond(&id, set.map(|()| json!({ "configOptions": options }))).await;
                if self.settings.mode != before {
                    let mode = CurrentModeUpdate::new(words::mode_name(self.settings.mode));
                    self.send_update(SessionUpdate::CurrentModeUpdate(mode)).await;
                }
            }
            SessionRequest::Answered { question, answer } => self.on_answer(question, answer).await,
            SessionRequest::AnsweredStaged { answer } => self.on_answer_about_staged(answer).await,
            SessionRequest::Close { .. } => {}
        }
    }

    async fn begin(&mut self, answer: OpeningAnswer, replay: bool) {
        let view = self.conversation.agent.view();
        if replay {
            for (key, item) in view.items.iter().enumerate() {
                self.replay(key, item).await;
            }
        }
        let (id, result) = answer(&self.settings, self.switches());
        self.client.respond(&id, Ok(result)).await;
        self.staged.is_offered = view.unwritten.is_some();
        self.send_update(self.offer.commands(self.staged.is_offered)).await;
        let trouble = std::mem::take(&mut self.conversation.trouble);
        if !trouble.is_empty() {
            self.notice(NoticeSeverity::Warning, &trouble).await;
        }
        if let Some(asks) = &view.unwritten {
            self.say_unwritten(asks).await;
        }
    }

    async fn replay(&mut self, key: usize, item: &Item) {
        match item {
            Item::Prompt { text } => self.send_update(updates::prompt(key, text)).await,
            Item::Answer { text } => self.send_update(updates::answer(key, text)).await,
            Item::Call(call) => self.on_call(key, call).await,
            _ => {}
        }
    }

    async fn on_prompt(&mut self, id: RequestId, text: String) {
        let agent = &self.conversation.agent;
        if self.prompt.is_some() || agent.view().phase != Phase::Idle {
            let busy = "a prompt is running in this session; it goes on, and this one is not taken";
            self.client.refuse(&id, Error::new(-32600, busy)).await;
            return;
        }
        let sent = text;
        let text = match offer::command(&sent) {
            None => sent.clone(),
            // This is an ordinary prompt with the words of the suggestion.
            Some(SessionCommand::Next) => {
                let Some(suggested) = self.offer.first().map(str::to_owned) else {
                    let why = self.offer.why_none().map(|Unsuggested { why, .. }| format!(": {why}"));
                    return self
                        .say(&id, &format!("Nothing is suggested now{}.", why.unwrap_or_default()))
                        .await;
                };
                suggested
            }
            // The prompt is answered when the summary exists, and the client is told of the summary.
            Some(SessionCommand::Compact) if agent.compact().is_ok() => {
                self.prompt = Some(PendingPrompt::new(id, sent));
                return;
            }
            // The prompt is answered when all is written.
            Some(SessionCommand::Write) if agent.write_staged(false).is_ok() => {
                self.prompt = Some(PendingPrompt { asked: true, ..PendingPrompt::new(id, sent) });
                return;
            }
            Some(SessionCommand::Undo) => {
                let undone = self.undo().await;
                return self.say(&id, &undone).await;
            }
            Some(SessionCommand::Drop) => {
                let dropped = self.drop_staged().await;
                return self.say(&id, &dropped).await;
            }
            Some(command) => {
                let answer = self.on_command(&command);
                return self.say(&id, &answer).await;
            }
        };
        let pending = PendingPrompt::new(id, sent);
        if self.startup.queue(&text) {
            self.prompt = Some(pending);
            return;
        }
        self.submit(pending, &text).await;
    }

    async fn submit(&mut self, pending: PendingPrompt, text: &str) {
        self.conversation.parts.begin_index();
        // A text that is equal to a candidate accepts the work that was done ahead for it.
        if self.conversation.agent.submit(text).is_err() {
            let empty = rpc::wrong("params.prompt", "there is no word in it");
            self.client.refuse(&pending.id, empty).await;
            return;
        }
        let title = (!self.is_titled).then(|| shortened(&one_line(text), TITLE_CHARS));
        self.is_titled = true;
        self.prompt = Some(pending);
        if let Some(title) = title {
            self.send_update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))).await;
        }
    }

    /// Answers a prompt that only this program reads, without a model.
    async fn say(&self, id: &RequestId, text: &str) {
        self.send_update(updates::agent_message(self.message_count.fetch_add(1, Ordering::Relaxed), text))
            .await;
        self.client.respond(id, Ok(PromptResponse::new(StopReason::EndTurn))).await;
    }

    async fn cancel(&mut self, only: Option<&RequestId>) {
        if let Some(only) = only
            && self.prompt.as_ref().is_none_or(|prompt| prompt.id != *only)
        {
            return;
        }
        match &mut self.prompt {
            Some(prompt) => {
                prompt.cancelled = true;
                if self.startup.take_back() || self.staged.withdraw() {
                    return self.finish().await;
                }
                // It may have ended by itself, and then there is nothing to stop.
                let _ = self.conversation.agent.interrupt();
            }
            None => self.conversation.agent.drop_suggestion(),
        }
    }

    /// `field` is where the client named the mode.
    fn set_mode(&mut self, field: &str, name: &str) -> Result<(), Error> {
        let known =
            || rpc::wrong(field, &format!("there is no mode {name:?}; there are {}", options::mode_names()));
        let mode = options::mode(name).ok_or_else(known)?;
        self.settings.mode = mode;
        self.conversation.parts.set_mode(mode);
        self.conversation.agent.rules_changed();
        Ok(())
    }

    fn set_option(&mut self, option: &str, value: &Value) -> Result<(), Error> {
        let wrong = |why: &str| Err(rpc::wrong("params.value", why));
        match (option, value) {
            (options::MODE, Value::String(mode)) => self.set_mode("params.value", mode),
            (options::MODEL, Value::String(model)) if !self.settings.models.contains(model) => {
                wrong(&format!("there is no model {model:?}; there are {}", self.settings.models.join(", ")))
            }
            (options::MODEL, Value::String(model)) => {
                let chosen =
                    self.choice.open(model).map_err(|problem| rpc::wrong("params.value", &problem))?;
                let Conversation { agent, parts, uses_local_model, .. } = &mut self.conversation;
                self.choice.use_models(agent, parts, uses_local_model, chosen);
                self.settings.model.clone_from(model);
                Ok(())
            }
            (options::AHEAD, Value::Bool(on)) => {
                self.set_ahead(*on);
                Ok(())
            }
            (options::AHEAD, Value::String(word)) if word == "on" || word == "off" => {
                self.set_ahead(word == "on");
                Ok(())
            }
            (options::AHEAD, _) => wrong("it is on or off"),
            (options::MODE | options::MODEL, _) => wrong("a text"),
            _ => Err(rpc::wrong("params.configId", &format!("there is no option {option:?}"))),
        }
    }

    fn set_ahead(&mut self, on: bool) {
        self.settings.ahead = on;
        self.conversation.agent.set_background(if on { self.ahead } else { Mode::Off });
    }

    async fn on_update(&mut self, update: &Update) {
        for change in &update.items {
            match change {
                ItemChange::Added { key, item } | ItemChange::Changed { key, item } => {
                    self.on_item(*key, item, matches!(change, ItemChange::Added { .. })).await;
                }
                ItemChange::Appended { key, text } => self.send_update(updates::answer(*key, text)).await,
                _ => {}
            }
        }
        self.on_question(&update.view).await;
        self.offer_commands_for_staged(&update.view).await;
        let offer = self.offer_in(&update.view);
        if offer != self.offer {
            if let Some(Unsuggested { code, why }) = offer.why_none()
                && self.reasons_told.insert(code.clone())
            {
                self.remark(&format!("nothing is suggested: {why}")).await;
            }
            if offer.is_for_other_work(&self.offer) {
                self.conversation.parts.views.prepare();
            }
            self.offer = offer;
            self.send_update(self.offer.update()).await;
            self.send_update(self.offer.commands(self.staged.is_offered)).await;
        }
        if update.view.phase == Phase::Idle {
            self.finish().await;
        }
    }

    /// The suggestions, or why there are none.
    fn offer_in(&self, view: &View) -> Offer {
        let is_idle = view.phase == Phase::Idle && !view.is_asking && view.suggestion.is_none();
        let code = view.unsuggested.as_deref().filter(|_| is_idle);
        let why = code.and_then(|code| words::unsuggested(code, self.conversation.agent.may_suggest()));
        match (code, why) {
            (Some(code), Some(why)) => Offer::withheld(Unsuggested { code: code.to_owned(), why }),
            _ => Offer::of(view),
        }
    }

    /// Asks a new question, and withdraws one that has become irrelevant.
    async fn on_question(&mut self, view: &View) {
        let known = self.open_question.as_ref().map(|(asking, _)| asking.id);
        let stands = view.question.as_ref().map(|question| question.id);
        if known == stands {
            return;
        }
        if let Some((_, task)) = self.open_question.take() {
            task.abort();
        }
        let Some(question) = &view.question else { return };
        let Some(asking) = ClientQuestion::of(question, view, &self.conversation.parts) else {
            let _ = self.conversation.agent.answer(question.id, UserAnswer::No);
            return;
        };
        if asking.is_new {
            // The call represents a question about work ahead, which is no call of the conversation.
            self.close_question_of_work(ToolCallStatus::Failed).await;
            self.about_work = Some(asking.call.tool_call_id.clone());
            if let Ok(call) = ToolCall::try_from(asking.call.clone()) {
                self.send_update(SessionUpdate::ToolCall(call)).await;
            }
        }
        let request =
            RequestPermissionRequest::new(self.id.clone(), asking.call.clone(), asking.options.clone());
        let (client, me, question) = (self.client.clone(), self.handle.clone(), asking.id);
        let task = tokio::spawn(async move {
            let answer = client.ask("session/request_permission", &request).await;
            me.send(SessionRequest::Answered { question, answer });
        });
        self.open_question = Some((asking, task));
    }

    async fn on_answer(&mut self, question: QuestionId, answer: Result<RequestPermissionResponse, Error>) {
        if self.open_question.as_ref().is_none_or(|(asking, _)| asking.id != question) {
            return;
        }
        let Some((asking, _)) = self.open_question.take() else { return };
        let agent = &self.conversation.agent;
        let answer = match asking.reply(answer) {
            QuestionReply::Answer(answer) => answer,
            QuestionReply::KeepCommits(commits) => match commits.keep() {
                Ok(Some(offer)) => {
                    self.notice(NoticeSeverity::Info, &offer.merge_advice()).await;
                    UserAnswer::Settled
                }
                Ok(None) => UserAnswer::Anew,
                Err(error) => {
                    self.notice(NoticeSeverity::Error, &error.to_string()).await;
                    UserAnswer::No
                }
            },
            QuestionReply::Stop => {
                // It may have ended by itself, and then there is nothing to stop.
                let _ = agent.interrupt();
                return;
            }
        };
        // The question may have become irrelevant meanwhile; then the answer has no effect.
        let _ = self.conversation.agent.answer(question, answer);
    }

    /// Answers the prompt. Nothing runs any more, and the client has been told everything.
    async fn finish(&mut self) {
        if self.startup.has_prompt() || self.asks_about_staged().await {
            return;
        }
        let Some(prompt) = self.prompt.take() else { return };
        self.close_question_of_work(ToolCallStatus::Failed).await;
        // An interrupted call has no result, so without this the client would show it as running.
        for key in std::mem::take(&mut self.open_calls) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
            let ended = ToolCallUpdate::new(updates::call_id(key), fields);
            self.send_update(SessionUpdate::ToolCallUpdate(ended)).await;
        }
        let used = self.conversation.agent.window_use();
        if let Some(window) = used.window {
            self.send_update(SessionUpdate::UsageUpdate(UsageUpdate::new(used.tokens, window))).await;
        }
        let stop = match (&prompt.ending, prompt.cancelled) {
            (_, true) | (Some(Ending::Aborted), _) => Ok(StopReason::Cancelled),
            (Some(Ending::Exhausted { limit: Limit::Output }), _) => Ok(StopReason::MaxTokens),
            (Some(Ending::Exhausted { .. }), _) => Ok(StopReason::MaxTurnRequests),
            (Some(Ending::Failed { error, code, .. }), _) => match code.as_deref() {
                Some("withheld") => Ok(StopReason::Refusal),
                Some("auth" | "unauthorized") => Err(Error::new(-32000, error.clone())),
                _ => Err(Error::new(-32603, error.clone())),
            },
            _ => Ok(StopReason::EndTurn),
        };
        let usage = updates::usage(tokens(&self.conversation.agent));
        let answer = stop.map(|stop| PromptResponse::new(stop).usage(usage));
        self.client.respond(&prompt.id, answer).await;
    }

    /// Whether the client knows boolean settings.
    fn switches(&self) -> bool {
        let options = self.client.capabilities().session.and_then(|session| session.config_options);
        options.is_some_and(|options| options.boolean.is_some())
    }
}
