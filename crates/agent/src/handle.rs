use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures::Stream;
use futures::channel::oneshot;
use futures::task::AtomicWaker;
use headstart_budget::Metering;
use headstart_budget::policy::{Mode, SkipReason, Tariff};
use headstart_context::Window;
use headstart_followup_state::{Event as Followup, Suggestion};
use headstart_overlay_fs::ChangeSet;
use headstart_speculation::{Engine, Host};
use headstart_tool_gate::{GateContext, SessionRule};

use crate::allowed::Allowed;
use crate::conversation::Conversation;
use crate::core::{Core, Effect, Now, TurnCommits, WindowUse};
use crate::driver::{Driver, questioning};
use crate::lock::lock;
use crate::options::{AgentOptions, Ports, UsedModels};
use crate::ports::Runtime;
use crate::view::{Answer, Edit, QuestionId, Refused, Submitted, Update, View};

/// A conversation: what its user does, the future that does what follows, and what has changed.
///
/// Nothing happens until the driver is polled: spawn it.
pub fn agent(options: AgentOptions, ports: Ports) -> (AgentHandle, Driver, Updates) {
    let Ports { engine, model, runtime, ledger, session } = ports;
    let AgentOptions { system, model: name, .. } = &options;
    let tools = engine.offered_tools();
    let conversation = Conversation::new(system, tools, name, Arc::clone(&engine.workspace));
    let conversation = match &options.restore {
        Some(session) => conversation.after(session.history.clone()),
        None => conversation,
    };
    let undone = conversation.workspace();
    let allowed = Allowed::default();
    let (host, runtime, inlet) = questioning(Arc::clone(&engine.host), runtime, allowed.clone());
    let engine = Engine { workspace: Arc::clone(&undone) as _, host, ..engine };
    let host = Arc::clone(&engine.host);
    let core = Core::new(
        options,
        engine.clone(),
        Arc::clone(&runtime),
        conversation,
        allowed.clone(),
        session.is_some(),
    );
    let shared = Arc::new(Shared {
        core: Mutex::new(core),
        host,
        runtime: Arc::clone(&runtime),
        driver: AtomicWaker::new(),
        updates: AtomicWaker::new(),
        waiting: Mutex::new(Some(Vec::new())),
        has_new_waiting: AtomicBool::new(false),
        view: Mutex::default(),
        allowed,
    });
    let driver = Driver::new(Arc::clone(&shared), engine, model, runtime, (ledger, session), undone, inlet);
    let handle = AgentHandle { open: Arc::new(Open(Arc::clone(&shared))) };
    (handle, driver, Updates { shared, seen: None })
}

/// What handle, driver and updates share.
pub(crate) struct Shared {
    core: Mutex<Core>,
    host: Arc<dyn Host>,
    runtime: Arc<dyn Runtime>,
    driver: AtomicWaker,
    updates: AtomicWaker,
    /// Those who wait until nothing goes on, or until it is over; `None` once nobody is left who could tell them.
    waiting: Mutex<Option<Vec<Waiting>>>,
    /// Whether somebody began to wait since the driver looked.
    has_new_waiting: AtomicBool,
    view: Mutex<Option<Arc<View>>>,
    allowed: Allowed,
}

/// Whoever waits until nothing goes on.
struct Waiting {
    /// Whether it is to be over, too.
    for_the_end: bool,
    /// Dropped when the time has come.
    _tell: oneshot::Sender<()>,
}

impl Shared {
    /// Something happens now, to the rules of the conversation.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        let ms = u64::try_from(self.host.now().as_millis()).unwrap_or(u64::MAX);
        let now = Now { ms, unix_ms: self.runtime.unix_ms() };
        let mut core = lock(&self.core);
        let answer = act(core.at(now));
        core.keep_metered();
        drop(core);
        self.driver.wake();
        self.updates.wake();
        answer
    }

    /// The view of the core as it is, built once for each revision.
    fn view_of(&self, core: &Core) -> Arc<View> {
        let mut kept = lock(&self.view);
        match &*kept {
            Some(view) if view.revision == core.revision() => Arc::clone(view),
            _ => Arc::clone(kept.insert(Arc::new(core.view()))),
        }
    }

    /// What is to be done next.
    pub(crate) fn next_effect(&self) -> Option<Effect> {
        lock(&self.core).next_effect()
    }

    /// Whether something is to be done, or somebody to be told; if not, the waker is woken when there is.
    pub(crate) fn poll_effects(&self, context: &Context<'_>) -> Poll<()> {
        self.driver.register(context.waker());
        let is_called = self.has_new_waiting.swap(false, Ordering::AcqRel) || lock(&self.core).has_effects();
        if is_called { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether the conversation is over and nothing of it goes on.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.core).has_ended()
    }

    /// Tells those who wait; `at_rest`: nothing is under way, and nothing left to be done.
    pub(crate) fn tell_waiting(&self, at_rest: bool, is_over: bool) {
        let mut waiting = lock(&self.waiting);
        if is_over {
            *waiting = None;
            self.updates.wake();
        } else if at_rest && let Some(waiting) = &mut *waiting {
            waiting.retain(|waiting| waiting.for_the_end);
        }
    }

    async fn wait(&self, for_the_end: bool) {
        let (tell, told) = oneshot::channel();
        let Some(()) = lock(&self.waiting).as_mut().map(|all| all.push(Waiting { for_the_end, _tell: tell }))
        else {
            return;
        };
        self.has_new_waiting.store(true, Ordering::Release);
        self.driver.wake();
        // It is never sent, only dropped.
        let _ = told.await;
    }
}

/// What the user does. Cheap to clone; every clone is the same conversation, and the conversation ends with the last of them.
///
/// Each method but [`idle`](Self::idle) and [`close`](Self::close) returns at once, and [`view`](Self::view) tells right behind it what came of it. A
/// port may call back: nothing is locked while it works.
#[derive(Clone)]
pub struct AgentHandle {
    open: Arc<Open>,
}

struct Open(Arc<Shared>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.with(Core::close);
    }
}

impl AgentHandle {
    fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        self.open.0.with(act)
    }

    fn look<T>(&self, look: impl FnOnce(&Core) -> T) -> T {
        look(&lock(&self.open.0.core))
    }

    /// All that there is to draw.
    pub fn view(&self) -> Arc<View> {
        self.look(|core| self.open.0.view_of(core))
    }

    /// Sends a prompt. While something goes on it waits in the queue.
    pub fn submit(&self, prompt: &str) -> Result<Submitted, Refused> {
        self.with(|core| core.submit(prompt))
    }

    /// Takes the prompt out of the queue that was sent last, for its user to change it.
    pub fn take_back_queued(&self) -> Option<String> {
        self.with(Core::take_back_queued)
    }

    /// The line holds this text now.
    pub fn edited(&self, text: &str, edit: Edit) {
        self.with(|core| core.edited(text, edit));
    }

    /// Takes the suggestion and the work behind it, as if it had been typed and sent; `shown` is what the user saw. The line is empty then.
    pub fn take(&self, shown: &str) -> Result<(), Refused> {
        self.with(|core| core.take(shown))
    }

    /// Shows the next of several suggestions.
    pub fn next_suggestion(&self) {
        self.with(|core| core.on_suggestion(Followup::NextCandidate));
    }

    /// Shows the one before.
    pub fn previous_suggestion(&self) {
        self.with(|core| core.on_suggestion(Followup::PreviousCandidate));
    }

    /// The user does not want what is suggested.
    pub fn dismiss(&self) {
        self.with(|core| core.on_suggestion(Followup::Dismiss));
    }

    /// Answers a question. One that does not stand any more, and an answer that does not fit, are [`Refused::Stale`].
    pub fn answer(&self, question: QuestionId, answer: Answer) -> Result<(), Refused> {
        self.with(|core| core.answer(question, answer))
    }

    /// What may run in turns until the conversation ends, because its user said [`Answer::Always`], oldest first.
    pub fn allowed(&self) -> Vec<SessionRule> {
        self.open.0.allowed.list()
    }

    /// What the gate goes by in this conversation: the rules of the host, and what is [`allowed`](Self::allowed).
    pub fn rules(&self) -> GateContext {
        self.open.0.host.gate_context()
    }

    /// The user is asked again about what [`allowed`](Self::allowed) lists so. Says whether it was there.
    pub fn ask_again(&self, rule: &SessionRule) -> bool {
        self.open.0.allowed.remove(rule)
    }

    /// Sends the last prompt once more; what is left of it in the line is the front end's to remove. Nothing was sent yet: [`Refused::Empty`].
    pub fn retry(&self) -> Result<(), Refused> {
        self.with(Core::retry)
    }

    /// Stops what goes on. After it no accept begins and no turn begins by itself; what is being written is written.
    pub fn interrupt(&self) -> Result<(), Refused> {
        self.with(Core::interrupt)
    }

    /// The rules of the host are other ones from now on, also for work that ran ahead.
    pub fn rules_changed(&self) {
        self.with(Core::rules_changed);
    }

    /// The model is told this with the user's next prompt: what they have done themselves, say.
    pub fn tell(&self, note: impl AsRef<str>) {
        self.with(|core| core.add_note(note.as_ref()));
    }

    /// As much is done ahead from now on.
    pub fn set_background(&self, mode: Mode) {
        self.with(|core| core.set_background(mode));
    }

    /// Lets this conversation lose one more start. Says whether there was a limit to it.
    pub fn grant(&self) -> bool {
        self.with(Core::grant)
    }

    /// Whether a suggestion would be asked for now. It changes nothing, so whoever hears of an update may ask.
    pub fn may_suggest(&self) -> Result<(), SkipReason> {
        let unix_ms = self.open.0.runtime.unix_ms();
        lock(&self.open.0.core).may_ask(unix_ms)
    }

    /// Forgets what was said.
    pub fn clear(&self) -> Result<(), Refused> {
        self.with(Core::clear)
    }

    /// Sums up what was said but for the last turns, however long it is.
    pub fn compact(&self) -> Result<(), Refused> {
        self.with(Core::compact)
    }

    /// Calls the conversation so, where it is kept.
    pub fn set_title(&self, title: &str) {
        self.with(|core| core.set_title(title));
    }

    /// Asks for a suggestion now, if nothing goes on and none is there, and says whether one is asked for. [`View::unsuggested`] tells why there is none.
    pub fn suggest(&self) -> bool {
        self.with(Core::suggest_now)
    }

    /// Shows a suggestion of the host's own, as one that begins a conversation. Nothing runs ahead for it.
    pub fn offer(&self, suggestion: Suggestion) {
        self.with(|core| core.offer(suggestion));
    }

    /// Whether suggestions are asked for from now on. Where they are not, the one that is there goes, and what runs ahead for it.
    pub fn set_suggestions(&self, are_shown: bool) {
        self.with(|core| core.set_suggestions(are_shown));
    }

    /// Whether suggestions run ahead from now on. What runs is dropped where they do not.
    pub fn set_speculation(&self, runs: bool) {
        self.with(|core| core.set_speculation(runs));
    }

    /// What is suggested is gone, and the work ahead with it: the host knows that it rests on what does not hold any more.
    pub fn drop_suggestion(&self) {
        self.with(Core::drop_suggestion);
    }

    /// So many suggestions are asked for from now on.
    pub fn set_candidates(&self, candidates: usize) {
        self.with(|core| core.set_candidates(candidates));
    }

    /// What the ports ask is another model from now on, of this name; `window`: what it sees at once, where that is known. What the former one did
    /// ahead is dropped; a turn under way ends with the name that it began with.
    pub fn set_model(&self, name: &str, tariff: Tariff, window: Option<Window>) {
        self.with(|core| core.set_model(name, tariff, window));
    }

    /// These models are asked from now on. What the former ones did ahead is dropped; a turn under way ends with those that it began with.
    pub fn use_models(&self, models: UsedModels) {
        self.with(|core| core.use_models(models));
    }

    /// What the last turn has changed in the workspace, of those that changed something and were not taken back: for a host that can take commits
    /// back.
    pub fn last_commits(&self) -> Option<TurnCommits> {
        self.look(Core::last_commits)
    }

    /// The host has taken these commits back. The ledger hears of it, and the model with the next prompt.
    pub fn took_back(&self, turn: &TurnCommits) {
        self.with(|core| core.took_back(turn));
    }

    /// How much of what its model sees at once the conversation takes. It is counted out of the whole conversation: to be asked for once a turn.
    pub fn window_use(&self) -> WindowUse {
        self.look(Core::window_use)
    }

    /// Other tools are offered from now on; refused while something goes on. What runs ahead is dropped, and a provider's cache of this conversation
    /// is lost. The rules of the host are to know them.
    #[cfg(feature = "native")]
    pub fn set_toolbox(&self, toolbox: headstart_toolbox::Toolbox) -> Result<(), Refused> {
        self.with(|core| core.set_toolbox(toolbox))
    }

    /// Files were changed, perhaps by somebody who undid work: what rests on that is not offered any more, and the lists of applied files say so.
    pub fn files_changed(&self) {
        self.with(Core::files_changed);
    }

    /// What this work changed, or would: work ahead, work that the user took and is asked about, or that they took lately, applied or not.
    pub fn changes(&self, work: &str) -> Option<ChangeSet> {
        // To look is no change: whoever looks at each update would be told of another one.
        let found = lock(&self.open.0.core).changes(work)?;
        Some(found.changes())
    }

    /// Looks at what was metered. The closure must not call this handle.
    pub fn metering<T>(&self, look: impl FnOnce(&Metering) -> T) -> T {
        self.look(|core| look(core.metering()))
    }

    /// What the work would change that its user would take now.
    pub fn staged(&self) -> Option<ChangeSet> {
        let work = self.look(|core| core.ahead().map(|work| work.speculation.clone()))?;
        Some(work.changes())
    }

    /// The prompt of the work that its user would take now.
    pub fn prompt_ahead(&self) -> Option<String> {
        self.look(|core| core.ahead().map(|work| work.speculation.prompt().to_owned()))
    }

    /// Waits until nothing goes on and nothing is left to be written.
    pub async fn idle(&self) {
        self.open.0.wait(false).await;
    }

    /// Ends the conversation: what goes on is stopped, work ahead is dropped. Waits until nothing of it is left and the ledger is written.
    pub async fn close(&self) {
        self.with(Core::close);
        self.open.0.wait(true).await;
    }
}

/// What has changed, as a stream that ends with the conversation.
///
/// Nothing piles up for whoever looks seldom: words of an answer are joined, and an item that changed twice is told once.
pub struct Updates {
    shared: Arc<Shared>,
    /// The revision of the update before.
    seen: Option<u64>,
}

impl Stream for Updates {
    type Item = Update;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Update>> {
        self.shared.updates.register(context.waker());
        let mut core = lock(&self.shared.core);
        let (revision, has_ended) = (core.revision(), core.has_ended());
        if self.seen == Some(revision) {
            return if has_ended { Poll::Ready(None) } else { Poll::Pending };
        }
        let (items, events) = (core.log().take_changes(), core.take_events());
        let view = self.shared.view_of(&core);
        drop(core);
        self.seen = Some(revision);
        Poll::Ready(Some(Update { items, view, events }))
    }
}

impl Drop for Updates {
    /// Nobody looks any more, so nothing is kept for them.
    fn drop(&mut self) {
        lock(&self.shared.core).forget_events();
    }
}
