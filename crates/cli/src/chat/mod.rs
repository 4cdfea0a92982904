//! `headstart chat`: a conversation in a terminal, with the next prompt suggested and run ahead.
//!
//! The rules of the conversation are those of `headstart_agent`. This module contains the loop that waits for whatever
//! comes first: a key, a signal, or something new to show.

mod calls;
mod card;
mod catalog;
mod command;
mod completion;
mod context;
mod copy;
mod costs;
mod definitions;
mod display;
mod generated;
mod guesses;
mod handover;
mod items;
mod model;
mod notices;
mod own_command;
mod pager;
mod pasted_path;
mod picker;
mod question;
mod resume;
mod retry_waits;
mod screen_reader;
mod server_login;
mod server_tools;
mod session_summary;
mod show;
mod skip_notice;
mod spending;
mod staged;
mod start;
mod status;
mod tab;
mod undo;
mod work_question;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use futures::{FutureExt, StreamExt};
use headstart_agent::{AgentHandle, Draft, EditKind, Item, Phase, Submission, Updates, View};
use tokio::task::JoinHandle;

pub(crate) use display::Display;
use handover::Handover;
use headstart_machine::config::Config as Settings;
use headstart_machine::conversation::{
    Accounts, AskedUndo, CommittedEdits, Conversation, FrontEndCapabilities, LocalModelFlag, ModelChoice,
    SessionStorage, mode_name, words,
};
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::one_line;
use headstart_machine::parts::ConversationParts;
use headstart_machine::system::signals::Signals;
use headstart_terminal::{
    Action, Ghost, GhostDirection, Input, InputEvent, LineEditor, LiveKind, LiveRow, Style, TerminalFeatures,
    ThemeChoice,
};
use items::DisplayProgress;
pub(crate) use picker::{PickerOutcome, pick};
use question::Question;
use retry_waits::RetryWaits;
pub(crate) use start::ChatStart;

/// How long closing may take. Work that is told to stop normally has stopped long before.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// In a terminal with fewer columns no row shows the work ahead, because only its first words would fit.
const MIN_CARD: usize = 20;
/// Two Ctrl-C at an empty prompt within this time leave the chat.
const SECOND_INTERRUPT: Duration = Duration::from_secs(2);

/// A conversation, and the terminal or pipe on which its user has it.
pub(crate) struct Chat {
    agent: AgentHandle,
    driver: JoinHandle<()>,
    updates: Updates,
    parts: ConversationParts,
    settings: Settings,
    display: Display,
    editor: LineEditor,
    completion: completion::NameCompletion,
    /// When a key last put the suggestion into the prompt.
    inserted_at: Option<Instant>,
    /// When Ctrl-C was pressed at an empty prompt, if nothing was pressed since.
    interrupted_at: Option<Instant>,
    question: Option<Question>,
    shown: DisplayProgress,
    /// What was shown without being an item of the conversation.
    side_outputs: pager::SideOutputs,
    /// When each running call began, by its place in the conversation.
    running: BTreeMap<usize, Instant>,
    /// The id of the call whose command the work ahead runs, and when it began.
    ahead_command: Option<(String, Instant)>,
    /// A running command of the user's own.
    own_command: Option<own_command::OwnCommand>,
    /// Work ahead that the user has taken while it still runs.
    joined: tab::JoinedWork,
    /// The prompt in the line for which work that ran ahead is offered.
    extended: Option<tab::OfferedExtension>,
    /// A restart of the tool servers.
    reloading: Option<JoinHandle<()>>,
    /// The prompts that wait for the first start of the servers.
    startup_queue: server_tools::StartupQueue,
    /// A login to a tool server that has not ended.
    login: Option<server_login::LoginTask>,
    /// A prompt that was requested from a server.
    prompt_request: Option<server_tools::PromptRequest>,
    written: Arc<CommittedEdits>,
    /// The draft that was last put into the prompt.
    drafted: Option<Draft>,
    /// The undo about which the user was asked.
    undo_asked: Option<AskedUndo>,
    rest_of_answer: Option<question::RestOfAnswer>,
    exit_status: ExitStatus,
    is_over: bool,
    /// Whether the user leaves for another conversation.
    resumes: bool,
    models: ModelChoice,
    retry_waits: RetryWaits,
    uses_local_model: LocalModelFlag,
    opening: ChatStart,
    /// A prompt that is offered at the beginning, until one is sent.
    initial_prompt: Option<String>,
    /// What is wrong with the files of earlier chats, until it has been said.
    trouble: String,
    id: String,
    /// Whether this chat can be resumed later.
    is_kept: bool,
    tally: session_summary::SessionTally,
    status: status::Status,
    notices: notices::Notices,
    skip_notice: skip_notice::SkipNotice,
    /// The calls of one answer about which the user may be asked, in order.
    series: Vec<String>,
    /// The program that gets the terminal next.
    handover: Option<Handover>,
}

/// How a chat was left.
#[derive(Debug)]
pub(crate) struct ChatEnd {
    pub(crate) status: ExitStatus,
    /// Whether its user wants to choose another conversation.
    pub(crate) resumes: bool,
    /// The id of the conversation, if it can be resumed.
    pub(crate) id: Option<String>,
}

impl Chat {
    /// Starts the conversation on the current runtime.
    pub(crate) fn new(
        parts: ConversationParts,
        settings: Settings,
        accounts: Accounts,
        mut storage: SessionStorage,
        models: ModelChoice,
        display: Display,
    ) -> Self {
        let prompts = std::mem::take(&mut storage.prompts);
        let shown_to = FrontEndCapabilities {
            // Without a terminal nobody can press a key for a suggestion.
            suggestions: display.has_person(),
            questions: display.has_person(),
            events: display.is_json(),
            staging: true,
        };
        let ledger = accounts.store.ledger().clone();
        let begun = Conversation::begin(parts, settings, accounts, storage, shown_to);
        let Conversation { agent, driver, updates, parts, settings, written, uses_local_model, .. } = begun;
        let Conversation { id, is_kept, trouble, .. } = begun;
        let folder = parts.workspace.file_name().unwrap_or_default().to_string_lossy();
        let known = TerminalFeatures::of(|name| models.variable(name));
        let notices = notices::Notices::new(known, &settings.screen, &folder);
        let editor = LineEditor::new(prompts).with_keys(settings.screen.keys.clone());
        let editor = if settings.screen.vi { editor.with_vi() } else { editor };
        let retry_waits = RetryWaits::of(&models.waits, counts_down(&settings, &display));
        let mut chat = Self {
            agent,
            driver,
            updates,
            parts,
            settings,
            display,
            editor,
            completion: completion::NameCompletion::default(),
            inserted_at: None,
            interrupted_at: None,
            question: None,
            shown: DisplayProgress::default(),
            side_outputs: pager::SideOutputs::default(),
            running: BTreeMap::new(),
            ahead_command: None,
            own_command: None,
            joined: tab::JoinedWork::default(),
            extended: None,
            reloading: None,
            login: None,
            startup_queue: server_tools::StartupQueue::default(),
            prompt_request: None,
            written,
            drafted: None,
            undo_asked: None,
            rest_of_answer: None,
            exit_status: ExitStatus::Done,
            is_over: false,
            resumes: false,
            retry_waits,
            models,
            uses_local_model,
            opening: ChatStart::default(),
            initial_prompt: None,
            trouble,
            id,
            is_kept,
            tally: session_summary::SessionTally::default(),
            status: status::Status::default(),
            notices,
            skip_notice: skip_notice::SkipNotice::default(),
            series: Vec::new(),
            handover: None,
        };
        chat.begin_status(&ledger);
        chat
    }

    /// Runs the chat until the user leaves. Whatever ends it, nothing that it started is left running.
    pub(crate) async fn run(mut self, input: &mut Input) -> Result<ChatEnd, CliError> {
        let ended = self.run_event_loop(input).await.and_then(|()| self.say_session_summary());
        let ended = ended.and(self.say_unwritten());
        // The terminal may be gone, and then no progress has to be ended.
        let _ = self.end_progress();
        // A process that never ends must not prevent the chat from ending.
        let ends = async {
            self.agent.close().await;
            // When the driver ends, what the work left in the state folder is removed.
            let _ = (&mut self.driver).await;
            self.status.close().await;
            self.end_servers().await;
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, ends).await;
        let closed = self.models.close().await;
        let (items, status) = (&self.agent.view().items, self.status_at_end());
        let is_begun = items.iter().any(|item| matches!(**item, Item::Prompt { .. }));
        let id = (self.is_kept && is_begun).then_some(self.id);
        let left = ChatEnd { status, resumes: self.resumes, id };
        ended.and(closed).map(|()| left)
    }

    async fn run_event_loop(&mut self, input: &mut Input) -> Result<(), CliError> {
        let mut signals = Signals::new().map_err(CliError::Input)?;
        let mut input_ended = false;
        if self.display.has_person() {
            let mode = mode_name(self.settings.mode);
            if let Some(by) =
                self.settings.screen.read_aloud.as_ref().filter(|_| self.display.uses_screen_reader())
            {
                let how =
                    "No line is drawn again. A line and Enter is a prompt; Ctrl-C interrupts, Ctrl-D leaves.";
                self.display
                    .say(&format!("This chat is lines to be read aloud, by {by}. {how}"), Style::Dim)?;
            }
            self.say_welcome(mode)?;
        }
        if !self.trouble.is_empty() {
            let trouble = std::mem::take(&mut self.trouble);
            self.display.say(&trouble, Style::Removed)?;
        }
        self.refresh_status();
        self.say_restored()?;
        self.show_staged(&self.agent.view(), "Not written yet of this conversation")?;
        self.start_servers();
        self.open()?;
        while !self.is_over {
            if let Some(handover) = self.handover.take() {
                self.hand_over_terminal(handover, input, &mut signals)?;
            }
            let view = self.agent.view();
            self.draw(&view)?;
            // A pipe is read line by line, each line when the turn before it has ended.
            let listens = !input_ended && (self.display.has_person() || view.phase == Phase::Idle);
            let joins = view.phase == Phase::Accepting;
            let (second, redraw) = (self.next_second(), self.display.next_redraw());
            tokio::select! {
                biased;
                signal = signals.next() => {
                    // If the terminal turns Ctrl-C into a signal, the signal is handled like the key.
                    if self.display.uses_screen_reader() && signal.is_interrupt() && self.stop()? {
                        continue;
                    }
                    let what = words::ENDED_BY_SIGNAL.to_owned();
                    return Err(CliError::Signalled { signal, what });
                }
                event = input.next(), if listens => match event.map_err(CliError::Input)? {
                    Some(event) => {
                        if !event.is_typing() {
                            self.finish_completion().await;
                        }
                        self.on_input(event)?;
                        self.catch_up()?;
                    }
                    None => input_ended = true,
                },
                // Updates wait while a text is open on the separate screen.
                Some(update) = self.updates.next(), if !self.display.is_reading() => self.on_update(&update)?,
                () = second => {}
                () = redraw => {}
                () = self.joined.until_long() => {}
                () = self.completion.refresh() => self.complete_with_news(),
                () = self.status.update() => {}
                () = self.parts.server_tools.changed(), if view.phase == Phase::Idle && !self.display.is_reading() => self.say_notices()?,
                news = own_command::next_event(&mut self.own_command), if !self.display.is_reading() => self.on_own_command(news)?,
                () = server_tools::wait_for_restart(&mut self.reloading), if view.phase == Phase::Idle && !self.display.is_reading() => self.on_reloaded()?,
                () = self.startup_queue.until_late() => self.on_late_servers()?,
                news = server_login::next_event(&mut self.login), if !self.display.is_reading() => self.on_login(news)?,
                result = server_tools::prompt_text(&mut self.prompt_request), if !self.display.is_reading() => self.on_prompted(result)?,
                news = self.retry_waits.of_request(joins).next_event() => self.on_wait(news, joins)?,
            }
            if input_ended && self.agent.view().phase == Phase::Idle {
                self.is_over = true;
            }
        }
        self.catch_up()
    }

    /// Shows all updates so far, so that the user sees them before they press the next key.
    fn catch_up(&mut self) -> Result<(), CliError> {
        while !self.display.is_reading()
            && let Some(Some(update)) = self.updates.next().now_or_never()
        {
            self.on_update(&update)?;
        }
        Ok(())
    }

    /// Draws the prompt, with the rest of the suggestion that continues what is typed, or the question in its place.
    fn draw(&mut self, view: &View) -> Result<(), CliError> {
        self.tell_terminal(view)?;
        self.joined.update(view.phase, Instant::now());
        if self.display.is_reading() {
            return self.display.draw_reader();
        }
        let columns = self.display.columns()?;
        let status = match view.phase {
            // Other keys count while a question is shown.
            _ if self.question.is_some() => None,
            Phase::Idle if self.startup_queue.has_prompts() => {
                Some("waiting for the tool servers to start (Ctrl-C interrupts)".to_owned())
            }
            Phase::Idle | Phase::Ended => {
                let time = self.ahead_command.as_ref().and_then(|(_, began)| self.running_time(*began));
                let key = self.settings.screen.keys.hint("read_newest").filter(|_| self.display.has_keys());
                let columns = if self.display.has_keys() { columns } else { usize::MAX };
                let ahead = view.ahead.as_ref().filter(|_| MIN_CARD <= columns);
                let card = ahead.map(|ahead| card::row(ahead, columns, time.as_deref(), key.as_deref()));
                self.extension_row(columns)
                    .or(card)
                    .or_else(|| self.skip_notice.row().filter(|_| self.display.has_keys()))
            }
            phase => Some(self.waits(phase == Phase::Accepting).unwrap_or_else(|| {
                match phase {
                    Phase::Accepting => self.joined.row(Instant::now()),
                    Phase::Asking => "asks before it writes",
                    Phase::Writing => "writing",
                    Phase::Compacting => "summing up what was said (Ctrl-C interrupts)",
                    _ => "working (Ctrl-C interrupts)",
                }
                .to_owned()
            })),
        };
        let ghost = view.suggestion.as_ref().and_then(|suggestion| {
            let others = suggestion.place.of.saturating_sub(1);
            Some(Ghost { others, ..Ghost::only(suggestion.rest.clone()?) })
        });
        self.update_guess_list(view, columns);
        // What the list has is not shown twice.
        let ghost = ghost.filter(|_| !self.lists_guesses());
        let first = self.initial_prompt.as_ref().filter(|_| self.editor.text().is_empty());
        let ghost = ghost.or_else(|| first.map(Ghost::by_enter));
        let is_answer =
            self.editor.text() == command::KEYS || self.answer_to_staged(self.editor.text()).is_some();
        self.editor.set_ghost(ghost.filter(|_| !is_answer));
        self.editor.set_queue(!view.queued.is_empty());
        self.editor.set_take_back(view.phase == Phase::Idle && self.agent.matched().is_some());
        let footer = self.status_line(view, columns);
        let question = self.question.as_ref().map(Question::consent);
        if let Some(why) = self.question.as_ref().and_then(|question| question.why.as_ref()) {
            return self.display.draw(why, None, &[], Some(question::WHY_NOT), &footer);
        }
        let search = self
            .editor
            .searches_for()
            .map(|words| format!("history: {words}  (Ctrl-R: older, Enter takes it, Esc gives up)"));
        let status = search.or(status);
        let mut live = self.live_rows(view);
        live.extend(self.own_rows());
        live.extend(queued_rows(view));
        live.extend(self.staged_row(view));
        self.display.draw(&self.editor, question, &live, status.as_deref(), &footer)
    }

    fn on_input(&mut self, event: InputEvent) -> Result<(), CliError> {
        let event = match event {
            InputEvent::Line(line) if self.display.uses_screen_reader() => return self.on_line(&line),
            InputEvent::Line(line) if line.trim().is_empty() => return Ok(()),
            InputEvent::Line(line) => return self.on_submit(&line),
            InputEvent::Terminal(event @ (Event::FocusGained | Event::FocusLost)) => {
                self.notices.on_focus(event == Event::FocusGained);
                return Ok(());
            }
            InputEvent::Background(theme) => {
                if self.settings.screen.theme == ThemeChoice::Auto {
                    self.display.set_theme(theme);
                }
                return Ok(());
            }
            InputEvent::Terminal(event) => event,
        };
        if self.display.is_reading() {
            self.display.on_key_of_reader(&event)?;
            if let Some(question) = self.question.as_mut().filter(|_| !self.display.is_reading()) {
                question.consent.restart_quiet_time(Instant::now());
            }
            return Ok(());
        }
        if self.question.is_some() {
            return self.on_key_of_question(&event);
        }
        // What is typed stays in the prompt.
        if self.editor.is_interrupt(&event) && self.stop()? {
            return Ok(());
        }
        let action = self.editor.handle(&self.with_mention(event));
        if !matches!(action, Action::Interrupt | Action::None | Action::Resized(_)) {
            self.interrupted_at = None;
        }
        match action {
            // The next frame asks for the size of the terminal itself.
            Action::None | Action::Resized(_) => {}
            Action::Inserted => self.on_edited(EditKind::Typed),
            Action::Edited => self.on_edited(EditKind::Changed),
            Action::ClosePopup => {
                self.agent.mark("");
                self.close_popup();
            }
            Action::Submit(text) if self.takes_inserted(&text) => {}
            Action::Submit(text) if self.is_rest_of_answer(&text) => self.agent.edited("", EditKind::Changed),
            Action::Submit(text) => self.on_submit(&text)?,
            Action::EditQueued => self.edit_queued(),
            Action::TakeBack => self.take_back_matched()?,
            Action::Tab => self.on_tab(),
            Action::TakeGhost => self.take_suggestion(),
            Action::InsertGhost => self.insert_suggestion(),
            Action::ListSuggestions => self.list_guesses(),
            Action::Marked => self.mark_guess(),
            Action::TakeListed(place) => self.take_listed(place),
            Action::TurnGhost(GhostDirection::Next) => self.agent.next_suggestion(),
            Action::TurnGhost(GhostDirection::Previous) => self.agent.previous_suggestion(),
            Action::DismissGhost if self.initial_prompt.take().is_some() => {}
            Action::DismissGhost => self.agent.dismiss(),
            Action::Escape => {
                self.stop()?;
            }
            Action::Editor => self.handover = Some(Handover::ToEditor),
            Action::ReadAll => self.read_conversation()?,
            Action::ReadNewest => self.read_newest()?,
            Action::Suspend => self.handover = Some(Handover::ToShell),
            Action::Redraw => self.display.scroll_away(&self.fold_hint())?,
            Action::NextMode => self.next_mode()?,
            Action::Interrupt => self.on_second_interrupt()?,
            Action::EndOfInput => self.is_over = true,
        }
        Ok(())
    }

    /// Handles Ctrl-C at an empty prompt: the second of two leaves the chat.
    fn on_second_interrupt(&mut self) -> Result<(), CliError> {
        let before = self.interrupted_at.replace(Instant::now());
        if before.is_some_and(|at| at.elapsed() < SECOND_INTERRUPT) {
            self.is_over = true;
            return Ok(());
        }
        self.display.say("Ctrl-C again, Ctrl-D or /quit leaves.", Style::Dim)
    }

    /// Takes the last queued prompt back into the editor.
    fn edit_queued(&mut self) {
        if let Some(text) = self.agent.take_back_queued() {
            self.editor.replace(&text);
            self.agent.edited(&text, EditKind::Recalled);
        }
    }

    /// Handles a line of a user with a screen reader: an answer to the question, a prompt, a Tab that takes the
    /// suggestion, or an empty line, which sends what waits in the prompt.
    fn on_line(&mut self, line: &str) -> Result<(), CliError> {
        if self.question.is_some() {
            return self.on_line_of_question(line);
        }
        if !line.trim().is_empty() {
            self.editor.replace("");
            return self.on_submit(line);
        }
        if line.contains('\t') {
            self.on_tab();
            return Ok(());
        }
        match self.editor.send() {
            Some(text) => self.on_submit(&text),
            None => Ok(()),
        }
    }

    /// Ends a command of the user's own, else the turn. Returns whether there was something to end.
    fn stop(&mut self) -> Result<bool, CliError> {
        Ok(self.end_own()? || self.take_back_queued_prompts() || self.agent.interrupt().is_ok())
    }

    fn on_edited(&mut self, edit: EditKind) {
        let edit = if self.editor.is_recalled() { EditKind::Recalled } else { edit };
        // The list of keys and an answer are not for the model, so the suggestion stays.
        let text = self.editor.text();
        if text != command::KEYS && self.answer_to_staged(text).is_none() {
            self.agent.edited(&self.editor.whole_text(), edit);
        }
        self.complete();
    }

    fn on_submit(&mut self, text: &str) -> Result<(), CliError> {
        if let Some((line, tells_model)) = own_command::parse(text).filter(|_| self.display.has_person()) {
            self.agent.edited("", EditKind::Changed);
            return self.run_own(line, tells_model);
        }
        if let Some(answer) = self.answer_to_staged(text) {
            self.agent.edited("", EditKind::Changed);
            return self.on_answer_to_staged(answer);
        }
        if let Some(slip) = self.slip(text) {
            self.agent.edited("", EditKind::Changed);
            return self.on_slip(slip, text.trim());
        }
        // Two slashes begin a prompt that starts with a slash.
        let escaped = text.trim_start().strip_prefix('/').filter(|rest| rest.starts_with('/'));
        let command = match text.trim() {
            _ if escaped.is_some() => None,
            command::KEYS if self.display.has_keys() => Some(Ok(command::SlashCommand::Help)),
            text => command::parse(text),
        };
        let text = escaped.unwrap_or(text);
        if let Some(command) = command {
            // The prompt is empty again, and the suggestion stays.
            self.agent.edited("", EditKind::Changed);
            return match command {
                Ok(command) => self.on_command(&command),
                Err(message) => self.display.say(&message, Style::Removed),
            };
        }
        if self.startup_queue.queue(text) {
            self.agent.edited("", EditKind::Changed);
            return Ok(());
        }
        self.submit(text)
    }

    fn submit(&mut self, text: &str) -> Result<(), CliError> {
        if self.offers_extension(text) {
            return Ok(());
        }
        self.initial_prompt = None;
        self.skip_notice.clear_row();
        match self.agent.submit(text) {
            // With keys, the prompt is shown above the editor until its turn begins.
            Ok(Submission::Queued) if !self.display.has_keys() => {
                self.display.say(&format!("next: {text}"), Style::Dim)
            }
            _ => Ok(()),
        }
    }
}

/// Whether the seconds of a wait are shown while they pass. A pipe is told once how many they are.
fn counts_down(settings: &Settings, display: &Display) -> bool {
    settings.screen.animations || !display.has_keys()
}

/// The queued prompts in order, each as one row.
fn queued_rows(view: &View) -> Vec<LiveRow> {
    let row = |text: &String| LiveRow::new(LiveKind::Queued, format!("next: {}", one_line(text)), Style::Dim);
    view.queued.iter().map(row).collect()
}
