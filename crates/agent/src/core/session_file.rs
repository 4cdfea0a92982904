//! What is kept of the conversation, so that a later one can continue it.

use headstart_forked_query::{Message, Role};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{CallStage, CallState, Event, Transcript};
use headstart_tool_gate::{Behaviour, Declaration};

use super::{Core, Effect, turn};
use crate::item::Item;
use crate::session::{self, Session};

/// What is known of the file of the conversation.
#[derive(Default)]
pub(super) struct SessionFileState {
    pub(super) header: HeaderState,
    /// Whether the conversation is kept at all.
    is_kept: bool,
    /// When the prompt that is worked on was sent, in milliseconds since the Unix epoch.
    pub(super) sent_at: u64,
    /// The workspace, as the host's rules name it; empty if there is none.
    workspace: String,
    /// The note that was kept last and that the model was not told yet.
    note: String,
    pub(super) title: TitleQuery,
    /// The prompt of the turn that goes on.
    turn: Option<String>,
    /// How many entries of the turn's transcript are kept ([`Transcript::said_since`]).
    pub(super) said: usize,
}

/// Whether a model is to give the conversation a title.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum TitleQuery {
    /// It is not time for one yet, because nothing was said, or nothing since the conversation was cleared.
    #[default]
    NotYet,
    /// So far the title is the beginning of the first prompt, and a model is to give another one.
    Wanted,
    /// A model is asked.
    Asked,
    /// The conversation has its title, or no model is to give it one.
    Done,
}

/// The first line of what is kept of the conversation.
pub(super) enum HeaderState {
    /// It will be written with the first turn; until then the title may change.
    Pending { title: Option<String> },
    Written {
        /// The prompt that was its title, if its user gave it none.
        title: Option<String>,
    },
}

impl Default for HeaderState {
    fn default() -> Self {
        Self::Pending { title: None }
    }
}

impl Core {
    /// Begins with what was kept of the conversation, if it continues one.
    pub(super) fn restore_session(&mut self, is_kept: bool) {
        self.session_file.is_kept = is_kept;
        self.session_file.workspace = self.engine.host.gate_context().workspace;
        let Some(session) = &self.options.restore else { return };
        self.log.restore(session.items.clone());
        self.turns = turn::restored(&self.options.id, session);
        self.session_file.header = HeaderState::Written { title: None };
        let is_titled = !session.title.is_empty();
        self.session_file.title = if is_titled { TitleQuery::Done } else { TitleQuery::NotYet };
        self.session_file.note.clone_from(&session.note);
        if !session.note.is_empty() {
            self.conversation.add_note(&session.note);
        }
        let (cut_off, damaged) = (session.cut_off.clone(), session.damaged_lines());
        let there = session.workspace.clone();
        for text in damaged.into_iter().chain(cut_off.clone()) {
            self.log.push(Item::Trouble { text });
        }
        if let Some(cut_off) = cut_off {
            self.keep_lines(session::ended(self.now.unix_ms));
            self.add_note(&format!("{cut_off}. The program had ended in it"));
        }
        let here = self.session_file.workspace.clone();
        let Some(there) = there.filter(|there| !here.is_empty() && *there != here) else {
            return;
        };
        let text = format!(
            "this conversation is one about {there}, and this is {here}: what it says of files may not hold here"
        );
        self.add_note(&format!(
            "what was said before was about {there}; from here on the workspace is {here}"
        ));
        self.log.push(Item::Trouble { text });
    }

    /// Sets the title of the conversation.
    pub(crate) fn set_title(&mut self, title: &str) {
        self.drop_title();
        match &mut self.session_file.header {
            HeaderState::Written { .. } => {
                self.effects.push_back(Effect::KeepSession(Session::title_line(title)));
            }
            HeaderState::Pending { title: known } => *known = Some(title.to_owned()),
        }
    }

    /// Keeps a prompt as soon as it is sent, so that it is known if the program is killed in its turn.
    pub(super) fn keep_prompt(&mut self, prompt: &str) {
        let at = self.session_file.sent_at;
        let mut lines = session::prompt(prompt, at);
        if let HeaderState::Pending { title } = &self.session_file.header {
            let title = title.clone().unwrap_or_else(|| prompt.to_owned());
            let named = (self.options.id.as_str(), self.session_file.workspace.as_str());
            lines.insert_str(0, &session::header(named, &title, &self.options.model, at));
            let given = self.session_file.title == TitleQuery::Done;
            self.session_file.header = HeaderState::Written { title: (!given).then(|| prompt.to_owned()) };
        }
        self.session_file.said = 0;
        self.session_file.turn = Some(prompt.to_owned());
        self.keep_lines(lines);
    }

    /// Keeps what was said in the turn since the last time, once the model has answered: a prompt without an answer may
    /// yet be taken back.
    pub(super) fn keep_transcript(&mut self, transcript: &Transcript) {
        let said = transcript.said_since(self.session_file.said);
        let is_answered =
            0 < self.session_file.said || said.iter().any(|message| message.role == Role::Model);
        if is_answered {
            self.keep_said(&said);
        }
    }

    /// Keeps these messages of the turn.
    pub(super) fn keep_said(&mut self, said: &[Message]) {
        if said.is_empty() {
            return;
        }
        self.session_file.said += said.len();
        let mut lines = String::new();
        if let (TitleQuery::NotYet, Some(prompt)) = (self.session_file.title, &self.session_file.turn) {
            if !matches!(&self.session_file.header, HeaderState::Written { title } if title.as_ref() == Some(prompt))
            {
                lines.push_str(&Session::title_line(prompt));
            }
            self.session_file.title =
                if self.session_file.is_kept { TitleQuery::Wanted } else { TitleQuery::Done };
        }
        // The model was told the note with the prompt.
        self.session_file.note.clear();
        lines.extend(said.iter().map(session::message));
        self.keep_lines(lines);
    }

    /// Keeps that a call has begun which may have an effect before it has a result.
    pub(super) fn keep_begun(&mut self, event: &Event) {
        let Event::CallState(CallState { stage: CallStage::Calling, id, name, .. }) = event else { return };
        let behaviour = Declaration::of_ours(name).map(|tool| &tool.behaviour);
        if !matches!(behaviour, Some(Behaviour::Reads | Behaviour::Searches)) {
            self.keep_lines(session::begun(id));
        }
    }

    /// Keeps that work ahead is about to be applied, which waits for this.
    pub(super) fn keep_accepting(&mut self) {
        if self.session_file.turn.is_some() {
            self.keep_lines(session::accepting());
        }
    }

    /// Keeps that the turn is over, and what of it is not kept yet; or that its prompt is taken back.
    pub(super) fn keep_turn_end(&mut self, transcript: &Transcript, is_answered: bool) {
        if self.session_file.turn.is_none() {
            return;
        }
        if is_answered {
            self.keep_transcript(transcript);
        }
        self.session_file.turn = None;
        self.session_file.said = 0;
        let at = self.now.unix_ms;
        self.keep_lines(if is_answered { session::ended(at) } else { session::withdrawn() });
    }

    fn keep_lines(&mut self, lines: String) {
        self.effects.push_back(Effect::KeepSession(lines));
    }

    /// Keeps what the model has to know before the user's next words, if that has changed. While a turn runs, it may
    /// still be told.
    pub(super) fn keep_note(&mut self) {
        if self.is_busy() || !matches!(self.session_file.header, HeaderState::Written { .. }) {
            return;
        }
        let note = self.conversation.pending_note(&self.undone);
        if note != self.session_file.note {
            self.effects.push_back(Effect::KeepSession(session::note(&note)));
            self.session_file.note = note;
        }
    }

    /// Forgets what was kept together with everything that was said: the note, and the title, for which the next prompt
    /// is asked anew.
    pub(super) fn clear_session(&mut self) {
        self.forget_turns();
        self.drop_title();
        self.session_file.title = TitleQuery::NotYet;
        self.session_file.note.clear();
        match &mut self.session_file.header {
            HeaderState::Written { .. } => self.effects.push_back(Effect::KeepSession(session::cleared())),
            HeaderState::Pending { title } => *title = None,
        }
    }

    /// Keeps that was told of these turns that they were taken back.
    pub(super) fn keep_undone(&mut self, turns: &[ContentHash]) {
        if matches!(self.session_file.header, HeaderState::Written { .. }) {
            self.keep_lines(turns.iter().copied().map(session::undone).collect());
        }
    }

    /// Keeps that the conversation was made shorter.
    pub(super) fn keep_compacted(&mut self) {
        self.keep_lines(session::compacted(self.conversation.history()));
    }
}
