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
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, WorkspacePath};
use headstart_speculation::{Engine, Finished, Host, Staged, TakenBack};
use headstart_tool_gate::{GateContext, SessionRule};

use crate::conversation::Conversation;
use crate::core::{Core, Effect, Extension, MatchedWork, Now, Turn, UndoneBefore, WindowUse};
use crate::driver::{Driver, connect_host};
use crate::lock::lock;
use crate::options::{AgentOptions, ModelSettings, Ports};
use crate::ports::Runtime;
use crate::session_rules::SessionRules;
use crate::view::{ActionError, EditKind, QuestionId, Submission, Update, UserAnswer, View};

/// Begins a conversation. Returns the handle for what its user does, the future that does what follows, and the stream
/// of changes.
///
/// Nothing happens until the driver is polled, so it has to be spawned.
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
    let session_rules = SessionRules::default();
    let (host, runtime, queries) = connect_host(Arc::clone(&engine.host), runtime, session_rules.clone());
    let engine = Engine { workspace: Arc::clone(&undone) as _, host, ..engine };
    let host = Arc::clone(&engine.host);
    let staged = Staged::new(&options.id, Arc::clone(&undone) as _);
    let core = Core::new(
        options,
        engine.clone(),
        Arc::clone(&runtime),
        conversation,
        session_rules.clone(),
        (session.is_some(), staged.clone()),
    );
    let shared = Arc::new(Shared {
        core: Mutex::new(core),
        host,
        runtime: Arc::clone(&runtime),
        driver: AtomicWaker::new(),
        updates: AtomicWaker::new(),
        waiters: Mutex::new(Some(Vec::new())),
        has_new_waiter: AtomicBool::new(false),
        view: Mutex::default(),
        session_rules,
    });
    let driver = Driver::new(
        Arc::clone(&shared),
        engine,
        model,
        runtime,
        (ledger, session),
        (undone, staged),
        queries,
    );
    let handle = AgentHandle { open: Arc::new(CloseOnDrop(Arc::clone(&shared))) };
    (handle, driver, Updates { shared, last_revision: None })
}

/// What handle, driver and updates share.
pub(crate) struct Shared {
    core: Mutex<Core>,
    host: Arc<dyn Host>,
    runtime: Arc<dyn Runtime>,
    driver: AtomicWaker,
    updates: AtomicWaker,
    /// The callers that wait until nothing goes on, or until the conversation is over; `None` once the driver is gone
    /// that would tell them.
    waiters: Mutex<Option<Vec<Waiter>>>,
    /// Whether a caller began to wait since the driver looked last.
    has_new_waiter: AtomicBool,
    view: Mutex<Option<Arc<View>>>,
    session_rules: SessionRules,
}

/// A caller that waits until nothing goes on.
struct Waiter {
    /// Whether it also waits until the conversation is over.
    until_the_end: bool,
    /// Dropped when the wait is over, which wakes the caller.
    _tell: oneshot::Sender<()>,
}

impl Shared {
    /// Sets the time, and applies an action to the rules of the conversation.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        let ms = u64::try_from(self.host.now().as_millis()).unwrap_or(u64::MAX);
        let now = Now { ms, unix_ms: self.runtime.unix_ms() };
        let mut core = lock(&self.core);
        let answer = act(core.at(now));
        core.save_metering();
        drop(core);
        self.driver.wake();
        self.updates.wake();
        answer
    }

    /// The view of the core as it is, built once for each revision.
    fn view_of(&self, core: &Core) -> Arc<View> {
        let mut view = lock(&self.view);
        match &*view {
            Some(view) if view.revision == core.revision() => Arc::clone(view),
            _ => Arc::clone(view.insert(Arc::new(core.view()))),
        }
    }

    /// Takes the next effect out of the queue.
    pub(crate) fn next_effect(&self) -> Option<Effect> {
        lock(&self.core).next_effect()
    }

    /// Ready if there is an effect, or if a caller may have to be told that its wait is over; if not, the waker is
    /// woken when there is.
    pub(crate) fn poll_effects(&self, context: &Context<'_>) -> Poll<()> {
        self.driver.register(context.waker());
        let is_called = self.has_new_waiter.swap(false, Ordering::AcqRel) || lock(&self.core).has_effects();
        if is_called { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether the conversation is over and nothing of it goes on.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.core).has_ended()
    }

    /// Ends the waits that are over. `at_rest` says that nothing is under way and nothing is left to be done.
    pub(crate) fn wake_waiters(&self, at_rest: bool, is_over: bool) {
        let mut waiters = lock(&self.waiters);
        if is_over {
            *waiters = None;
            self.updates.wake();
        } else if at_rest && let Some(waiters) = &mut *waiters {
            waiters.retain(|waiter| waiter.until_the_end);
        }
    }

    async fn wait(&self, until_the_end: bool) {
        let (sender, receiver) = oneshot::channel();
        let Some(()) =
            lock(&self.waiters).as_mut().map(|all| all.push(Waiter { until_the_end, _tell: sender }))
        else {
            return;
        };
        self.has_new_waiter.store(true, Ordering::Release);
        self.driver.wake();
        // Nothing is ever sent: the end of the wait is that the sender is dropped.
        let _ = receiver.await;
    }
}

/// What the user does. It is cheap to clone; every clone is for the same conversation, which ends when the last one is
/// dropped.
///
/// Each method but [`idle`](Self::idle) and [`close`](Self::close) returns at once, and [`view`](Self::view) shows its
/// result right after the call. A port may call a handle, because nothing is locked while a port works.
#[derive(Clone)]
pub struct AgentHandle {
    open: Arc<CloseOnDrop>,
}

struct CloseOnDrop(Arc<Shared>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.with(Core::close);
    }
}

impl AgentHandle {
    fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        self.open.0.with(act)
    }

    fn read<T>(&self, read: impl FnOnce(&Core) -> T) -> T {
        read(&lock(&self.open.0.core))
    }

    /// Everything that there is to draw.
    pub fn view(&self) -> Arc<View> {
        self.read(|core| self.open.0.view_of(core))
    }

    /// Sends a prompt. While something goes on, it waits in the queue.
    pub fn submit(&self, prompt: &str) -> Result<Submission, ActionError> {
        self.with(|core| core.submit(prompt))
    }

    /// Sends a prompt as it is typed: no work that ran ahead is taken for it.
    pub fn submit_as_typed(&self, prompt: &str) -> Result<Submission, ActionError> {
        self.with(|core| core.submit_as_typed(prompt))
    }

    /// What a prompt adds to a guess whose work is there, if it asks for that work and for more: a front end can offer
    /// to take the work and to send the rest ([`take_extended`](Self::take_extended)). Nothing is offered while
    /// something goes on.
    pub fn extension(&self, prompt: &str) -> Option<Extension> {
        self.read(|core| core.extension(prompt))
    }

    /// Takes the work of the guess that the prompt [extends](Self::extension), and sends the rest when it is applied.
    pub fn take_extended(&self, prompt: &str) -> Result<(), ActionError> {
        self.with(|core| core.take_extended(prompt))
    }

    /// The work that was taken last because other words than its guess asked for it, as long as nothing else was sent
    /// and nothing goes on: a front end can offer to take it back and to
    /// [send the prompt as typed](Self::submit_as_typed).
    pub fn matched(&self) -> Option<MatchedWork> {
        self.read(Core::matched)
    }

    /// Takes the prompt that was sent last out of the queue, so that its user can change it.
    pub fn take_back_queued(&self) -> Option<String> {
        self.with(Core::take_back_queued)
    }

    /// Reports the text that the line holds now.
    pub fn edited(&self, text: &str, edit: EditKind) {
        self.with(|core| core.edited(text, edit));
    }

    /// Takes the suggestion and the work behind it, as if it had been typed and sent; `shown` is what the user saw. The
    /// line is empty afterwards.
    pub fn take(&self, shown: &str) -> Result<(), ActionError> {
        self.with(|core| core.take(shown))
    }

    /// Shows the next of several suggestions.
    pub fn next_suggestion(&self) {
        self.with(|core| core.on_suggestion(Followup::NextCandidate));
    }

    /// Shows the previous of several suggestions.
    pub fn previous_suggestion(&self) {
        self.with(|core| core.on_suggestion(Followup::PreviousCandidate));
    }

    /// Reports that the user looks at one of the [`guesses`](crate::View::guesses) in a list. If they do so for a moment, it
    /// runs ahead as well.
    pub fn mark(&self, guess: &str) {
        self.with(|core| core.mark(guess));
    }

    /// Takes one of the [`guesses`](crate::View::guesses) and the work behind it, whatever is in the line, which is empty
    /// afterwards.
    pub fn take_guess(&self, guess: &str) -> Result<(), ActionError> {
        self.with(|core| core.take_guess(guess))
    }

    /// Dismisses the suggestion, because the user does not want it.
    pub fn dismiss(&self) {
        self.with(|core| core.on_suggestion(Followup::Dismiss));
    }

    /// Answers a question. If the question is not asked any more, or the answer does not fit, the error is
    /// [`ActionError::Stale`].
    pub fn answer(&self, question: QuestionId, answer: UserAnswer) -> Result<(), ActionError> {
        self.with(|core| core.answer(question, answer))
    }

    /// What may run in turns until the conversation ends, because its user said [`UserAnswer::Always`], oldest first.
    pub fn session_rules(&self) -> Vec<SessionRule> {
        self.open.0.session_rules.list()
    }

    /// The rules by which the gate decides in this conversation: those of the host, and what is
    /// [`session_rules`](Self::session_rules).
    pub fn rules(&self) -> GateContext {
        self.open.0.host.gate_context()
    }

    /// Takes back a rule that [`session_rules`](Self::session_rules) lists, so that the user is asked again. Returns
    /// whether it was listed.
    pub fn remove_session_rule(&self, rule: &SessionRule) -> bool {
        self.open.0.session_rules.remove(rule)
    }

    /// Sends the last prompt once more; the front end has to remove what is left of it in the line. The error is
    /// [`ActionError::Empty`] if nothing was sent yet.
    pub fn retry(&self) -> Result<(), ActionError> {
        self.with(Core::retry)
    }

    /// Stops what goes on. After this no accept and no turn begins by itself; a write that has begun is completed.
    pub fn interrupt(&self) -> Result<(), ActionError> {
        self.with(Core::interrupt)
    }

    /// Gives up the work ahead that was taken and still runs ([`Phase::Accepting`](crate::Phase::Accepting)): its prompt runs in the
    /// foreground. The error is [`ActionError::Stale`] if it does not run any more.
    pub fn run_here(&self) -> Result<(), ActionError> {
        self.with(Core::run_here)
    }

    /// Reports that the rules of the host have changed. They hold for work that ran ahead too.
    pub fn rules_changed(&self) {
        self.with(Core::rules_changed);
    }

    /// Tells the model something with the user's next prompt, for example what the user has done themselves.
    pub fn add_note(&self, note: impl AsRef<str>) {
        self.with(|core| core.add_note(note.as_ref()));
    }

    /// Sets how much is done ahead from now on.
    pub fn set_background(&self, mode: Mode) {
        self.with(|core| core.set_background(mode));
    }

    /// Grants this conversation the limit of a day once more. Returns whether there is one.
    pub fn grant(&self) -> bool {
        self.with(Core::grant)
    }

    /// Whether a suggestion would be asked for now. The question changes nothing, so it may be asked at each update.
    pub fn may_suggest(&self) -> Result<(), SkipReason> {
        let unix_ms = self.open.0.runtime.unix_ms();
        lock(&self.open.0.core).may_ask(unix_ms)
    }

    /// Forgets what was said.
    pub fn clear(&self) -> Result<(), ActionError> {
        self.with(Core::clear)
    }

    /// Sums up what was said except for the last turns, however long it is.
    pub fn compact(&self) -> Result<(), ActionError> {
        self.with(Core::compact)
    }

    /// Sets the title of the conversation, if the conversation is kept.
    pub fn set_title(&self, title: &str) {
        self.with(|core| core.set_title(title));
    }

    /// Asks for a suggestion now if nothing goes on and none is there, and returns whether it asks.
    /// [`View::unsuggested`] tells why there is none.
    pub fn suggest(&self) -> bool {
        self.with(Core::suggest_now)
    }

    /// Shows a suggestion that the host gives, for example to begin a conversation. Nothing runs ahead for it.
    pub fn offer(&self, suggestion: Suggestion) {
        self.with(|core| core.offer(suggestion));
    }

    /// Sets whether suggestions are asked for from now on. If not, the current one is dropped together with what runs
    /// ahead for it.
    pub fn set_suggestions(&self, are_shown: bool) {
        self.with(|core| core.set_suggestions(are_shown));
    }

    /// Sets whether suggestions run ahead from now on. If not, what runs is dropped.
    pub fn set_speculation(&self, runs: bool) {
        self.with(|core| core.set_speculation(runs));
    }

    /// Drops the suggestion and the work ahead, because the host knows that what they build on is not true any more.
    pub fn drop_suggestion(&self) {
        self.with(Core::drop_suggestion);
    }

    /// Sets how many suggestions are asked for from now on.
    pub fn set_candidates(&self, candidates: usize) {
        self.with(|core| core.set_candidates(candidates));
    }

    /// Reports that the ports ask another model from now on. `name` is its name for its provider, `window` how much it
    /// sees at once, if that is known. What the former model did ahead is dropped; a turn under way ends with the name
    /// that it began with.
    pub fn set_model(&self, name: &str, tariff: Tariff, window: Option<Window>) {
        self.with(|core| core.set_model(name, tariff, window));
    }

    /// Asks these models from now on. What the former ones did ahead is dropped; a turn under way ends with the models
    /// that it began with.
    pub fn use_models(&self, models: ModelSettings) {
        self.with(|core| core.use_models(models));
    }

    /// The last turns, oldest first, with those from before the conversation was continued: for a host that can take
    /// back what was committed in one.
    pub fn turns(&self) -> Vec<Turn> {
        self.read(Core::turns)
    }

    /// Reports that the host has taken back what was committed in a turn: these paths, and in words what was done with
    /// git. The ledger is told at once, the model with the next prompt; returns `false` if the model is not told, because
    /// it does not know of the turn any more.
    pub fn note_turn_undone(&self, turn: &Turn, paths: &[WorkspacePath], git: &[String]) -> bool {
        self.with(|core| core.note_turn_undone(turn, paths, git))
    }

    /// Reports that changes of a turn of this conversation were taken back before it was continued. The user is told at once,
    /// the model with the next prompt, and what is told as a whole is told once.
    pub fn note_undone_before(&self, turn: &Turn, undone: &UndoneBefore) {
        self.with(|core| core.note_undone_before(turn, undone));
    }

    /// How much of what its model sees at once the conversation takes. This is counted over the whole conversation, so
    /// it should be asked for only once a turn.
    pub fn window_use(&self) -> WindowUse {
        self.read(Core::window_use)
    }

    /// Offers other tools from now on; refused while something goes on. What runs ahead is dropped, and a provider's
    /// cache of this conversation is lost. The host has to add the tools to its rules.
    #[cfg(feature = "native")]
    pub fn set_toolbox(&self, toolbox: headstart_toolbox::Toolbox) -> Result<(), ActionError> {
        self.with(|core| core.set_toolbox(toolbox))
    }

    /// Reports that files were changed, perhaps because work was undone: a suggestion that builds on the old files is
    /// dropped, and the lists of applied files show what is undone.
    pub fn files_changed(&self) {
        self.with(Core::files_changed);
    }

    /// The changes that this work made or would make: work ahead, work that the user took and is asked about, or work
    /// that they took lately, applied or not.
    pub fn changes(&self, work: &str) -> Option<ChangeSet> {
        // This must not count as a change, because a caller that asks at each update would then cause another update.
        let found = lock(&self.open.0.core).changes(work)?;
        Some(found.changes())
    }

    /// Looks at what was metered. The closure must not call this handle.
    pub fn metering<T>(&self, read: impl FnOnce(&Metering) -> T) -> T {
        self.read(|core| read(core.metering()))
    }

    /// The changes of the work that the user would take now.
    pub fn staged(&self) -> Option<ChangeSet> {
        let work = self.read(|core| core.ahead().map(|work| work.speculation.clone()))?;
        Some(work.changes())
    }

    /// What the work that the user would take now did to the repository.
    pub fn staged_git(&self) -> Option<GitChange> {
        self.read(|core| core.ahead().map(|work| work.speculation.clone()))?.git()
    }

    /// The prompt of the work that the user would take now.
    pub fn prompt_ahead(&self) -> Option<String> {
        self.read(|core| core.ahead().map(|work| work.speculation.prompt().to_owned()))
    }

    /// Writes what turns have staged ([`View::unwritten`]), with `keeps` also what can be kept of what a write leaves out.
    /// Nothing is written if it is not what the view has shown.
    pub fn write_staged(&self, keeps: bool) -> Result<(), ActionError> {
        self.with(|core| core.write_staged(keeps))
    }

    /// Drops what turns have staged, together with what runs ahead on top of it; the model is told with the next
    /// prompt.
    pub fn drop_staged(&self) -> Result<(), ActionError> {
        self.with(Core::drop_staged)
    }

    /// Takes back what the last turn has staged that staged something, as if it had not; the model is told with the next
    /// prompt. The turns before it stay staged.
    pub fn take_back_staged(&self) -> Result<TakenBack, ActionError> {
        self.with(Core::take_back_staged)
    }

    /// What turns have staged, as work that another process can accept.
    pub fn unwritten(&self) -> Option<Finished> {
        self.read(Core::unwritten)
    }

    /// Goes on with what an earlier process staged in this conversation and did not write. The error says why that
    /// cannot be.
    pub fn restore_staged(&self, kept: &Finished) -> Result<(), String> {
        self.with(|core| core.restore_staged(kept))
    }

    /// Waits until nothing goes on and nothing is left to be written.
    pub async fn idle(&self) {
        self.open.0.wait(false).await;
    }

    /// Ends the conversation: what goes on is stopped, work ahead is dropped. Waits until nothing of it is left and the
    /// ledger is written.
    pub async fn close(&self) {
        self.with(Core::close);
        self.open.0.wait(true).await;
    }
}

/// A stream of what has changed, which ends with the conversation.
///
/// Changes do not pile up if the stream is polled seldom: words of an answer are joined, and an item that changed twice
/// is told once.
pub struct Updates {
    shared: Arc<Shared>,
    /// The revision of the update before.
    last_revision: Option<u64>,
}

impl Stream for Updates {
    type Item = Update;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Update>> {
        self.shared.updates.register(context.waker());
        let mut core = lock(&self.shared.core);
        let (revision, has_ended) = (core.revision(), core.has_ended());
        if self.last_revision == Some(revision) {
            return if has_ended { Poll::Ready(None) } else { Poll::Pending };
        }
        let (items, events) = (core.log().take_changes(), core.take_events());
        let view = self.shared.view_of(&core);
        drop(core);
        self.last_revision = Some(revision);
        Poll::Ready(Some(Update { items, view, events }))
    }
}

impl Drop for Updates {
    /// Nobody takes the changes any more, so no events are kept for them.
    fn drop(&mut self) {
        lock(&self.shared.core).forget_events();
    }
}
