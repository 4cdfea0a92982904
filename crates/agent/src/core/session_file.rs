//! What is kept of the conversation, so that a later one can continue it.

use headstart_forked_query::Message;

use super::{Core, Effect};
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
    Pending {
        title: Option<String>,
    },
    Written,
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
        self.session_file.header = HeaderState::Written;
        let is_titled = !session.title.is_empty();
        self.session_file.title = if is_titled { TitleQuery::Done } else { TitleQuery::NotYet };
        self.session_file.note.clone_from(&session.note);
        if !session.note.is_empty() {
            self.conversation.add_note(&session.note);
        }
        let here = self.session_file.workspace.clone();
        let Some(there) = session.workspace.clone().filter(|there| !here.is_empty() && *there != here) else {
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
            HeaderState::Written => self.effects.push_back(Effect::KeepSession(Session::title_line(title))),
            HeaderState::Pending { title: known } => *known = Some(title.to_owned()),
        }
    }

    /// Keeps a turn that has become part of the conversation.
    pub(super) fn keep_turn(&mut self, prompt: &str, messages: &[Message]) {
        let at = self.session_file.sent_at;
        self.session_file.note.clear();
        let mut lines = session::turn(prompt, (at, self.now.unix_ms), messages);
        let header = std::mem::replace(&mut self.session_file.header, HeaderState::Written);
        let is_untitled = self.session_file.title == TitleQuery::NotYet;
        if is_untitled {
            self.session_file.title =
                if self.session_file.is_kept { TitleQuery::Wanted } else { TitleQuery::Done };
        }
        match header {
            HeaderState::Pending { title } => {
                let title = title.unwrap_or_else(|| prompt.to_owned());
                let named = (self.options.id.as_str(), self.session_file.workspace.as_str());
                lines.insert_str(0, &session::header(named, &title, &self.options.model, at));
            }
            HeaderState::Written if is_untitled => lines.insert_str(0, &Session::title_line(prompt)),
            HeaderState::Written => {}
        }
        self.effects.push_back(Effect::KeepSession(lines));
    }

    /// Keeps what the model has to know before the user's next words, if that has changed. While a turn runs, it may
    /// still be told.
    pub(super) fn keep_note(&mut self) {
        if self.is_busy() || !matches!(self.session_file.header, HeaderState::Written) {
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
        self.drop_title();
        self.session_file.title = TitleQuery::NotYet;
        self.session_file.note.clear();
        match &mut self.session_file.header {
            HeaderState::Written => self.effects.push_back(Effect::KeepSession(session::cleared())),
            HeaderState::Pending { title } => *title = None,
        }
    }

    /// If the conversation was made shorter and that is not kept yet, keeps it, behind the turns that came before.
    pub(super) fn keep_compacted(&mut self) {
        if std::mem::take(&mut self.compaction.needs_saving) {
            self.effects.push_back(Effect::KeepSession(session::compacted(self.conversation.history())));
        }
    }
}
