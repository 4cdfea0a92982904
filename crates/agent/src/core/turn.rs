//! The turns of a conversation, for a host that can take back what was committed in one.

use std::collections::VecDeque;

use headstart_overlay_fs::{ContentHash, WorkspacePath};

use super::Core;
use crate::item::Item;
use crate::session::Session;

/// How many turns are remembered.
const MOST_TURNS: usize = 100;
/// How many files a note names.
const MOST_NAMED: usize = 20;

/// A turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// What names it in the workspace ([`CommitOptions::turn`](headstart_overlay_fs::CommitOptions::turn)), also when
    /// another process continues the conversation.
    pub id: ContentHash,
    /// Its prompt.
    pub prompt: String,
    /// The id of the work ahead that was taken in it.
    work: Option<String>,
    /// Whether it was before the conversation was continued, so nobody watches its files.
    is_restored: bool,
    /// Whether the conversation was cleared since, so the model does not know of it.
    is_forgotten: bool,
}

impl Turn {
    fn new(conversation: &str, prompt: &str, sent_at: u64) -> Self {
        let id = ContentHash::of(format!("{conversation} {sent_at}").as_bytes());
        Self { id, prompt: prompt.to_owned(), work: None, is_restored: false, is_forgotten: false }
    }
}

/// The last turns of a conversation that is continued.
pub(super) fn restored(conversation: &str, session: &Session) -> VecDeque<Turn> {
    let turns = session.prompts.iter().zip(&session.sent).enumerate();
    let turns = turns.skip(session.prompts.len().saturating_sub(MOST_TURNS));
    turns
        .map(|(place, (prompt, sent_at))| Turn {
            is_restored: true,
            is_forgotten: place < session.cleared,
            ..Turn::new(conversation, prompt, *sent_at)
        })
        .collect()
}

/// What was taken back of a turn, as it is found later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneBefore {
    /// The prompt of the turn, in short.
    pub prompt: String,
    /// The paths at which nothing of the turn is in force any more.
    pub restored: Vec<WorkspacePath>,
    /// Those at which something of it is.
    pub stayed: Vec<WorkspacePath>,
}

/// The first paths, and how many there are besides.
pub(super) fn list_paths(paths: &[WorkspacePath]) -> String {
    let named: Vec<_> = paths.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    let more = match paths.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if named.is_empty() { "nothing".to_owned() } else { format!("{}{more}", named.join(", ")) }
}

/// What the model has to know of an undo; empty if there is nothing.
pub(super) fn undone_note(paths: &[WorkspacePath], git: &[String]) -> String {
    let mut parts = Vec::new();
    if !paths.is_empty() {
        parts.push(format!(
            "the user has undone changes that you made. These files are as they were before them, or not there: {}",
            list_paths(paths)
        ));
    }
    if !git.is_empty() {
        parts.push(format!("the user has taken back what you did with git: {}", git.join(", ")));
    }
    parts.join("\n")
}

impl Core {
    /// Begins a turn: what is committed from now on belongs to it.
    pub(super) fn begin_turn(&mut self, prompt: &str) {
        if self.turns.len() == MOST_TURNS {
            self.turns.pop_front();
        }
        let turn = Turn::new(&self.options.id, prompt, self.session_file.sent_at);
        self.conversation.workspace().begin_turn(turn.id);
        self.begin_staged_turn();
        self.turns.push_back(turn);
    }

    /// Notes that this work was taken in the last turn.
    pub(super) fn note_work_of_turn(&mut self, work: &str) {
        if let Some(turn) = self.turns.back_mut() {
            turn.work = Some(work.to_owned());
        }
    }

    pub(crate) fn turns(&self) -> Vec<Turn> {
        self.turns.iter().cloned().collect()
    }

    /// Notes that no turn before is known to the model any more.
    pub(super) fn forget_turns(&mut self) {
        for turn in &mut self.turns {
            turn.is_forgotten = true;
        }
    }

    /// Notes that the host has taken back what was committed in a turn. Returns whether the model is told.
    pub(crate) fn note_turn_undone(&mut self, turn: &Turn, paths: &[WorkspacePath], git: &[String]) -> bool {
        if let Some(work) = &turn.work {
            self.options.metering.record_undo(self.now.unix_ms, work);
        }
        self.told_undone.push(turn.id);
        if !turn.is_forgotten {
            // Files that were written since the conversation went on are watched.
            let paths = if turn.is_restored { paths } else { &[] };
            let note = undone_note(paths, git);
            if !note.is_empty() {
                self.add_note(&note);
            }
        }
        self.files_changed();
        !turn.is_forgotten
    }

    /// Tells the user and the model what was taken back of a turn while this conversation was not open, or by a process
    /// that ended before it could say so.
    pub(crate) fn note_undone_before(&mut self, turn: &Turn, undone: &UndoneBefore) {
        let is_told = |session: &Session| session.undone.contains(&turn.id);
        let is_whole = undone.stayed.is_empty();
        if turn.is_forgotten || is_whole && self.options.restore.as_ref().is_some_and(is_told) {
            return;
        }
        let restored = list_paths(&undone.restored);
        let text = if is_whole {
            format!("changes of \"{}\" were taken back: {restored}", undone.prompt)
        } else {
            let stayed = list_paths(&undone.stayed);
            format!(
                "the undo of \"{}\" was cut off: {restored} went back, and {stayed} did not; /undo takes back the rest",
                undone.prompt
            )
        };
        let note = undone_note(&undone.restored, &[]);
        self.add_note(if note.is_empty() { &text } else { &note });
        self.log.push(Item::Trouble { text });
        if is_whole {
            self.keep_undone(&[turn.id]);
        }
    }
}
