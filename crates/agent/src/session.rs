//! A conversation as lines of JSON, so that another process can continue it.
//!
//! ```text
//! {"type":"session","version":1,"id":"k3v9","title":"fix the parser","model":"m","created":1700000000000,"workspace":"/home/a/parser"}
//! {"type":"prompt","text":"fix the parser","at":1700000000000,"open":true}
//! {"type":"message","message":{"role":"user","parts":[{"type":"text","text":"fix the parser"}]}}
//! {"type":"message","message":{"role":"model","parts":[{"type":"toolCall","id":"1","name":"shell","args":{"command":"make"}}]}}
//! {"type":"begun","id":"1"}
//! {"type":"message","message":{"role":"tool","parts":[{"type":"toolResult","id":"1","name":"shell","output":"ok"}]}}
//! {"type":"message","message":{"role":"model","parts":[{"type":"text","text":"It is fixed."}]}}
//! {"type":"ended","at":1700000042000}
//! {"type":"title","text":"the parser"}
//! {"type":"prompt","text":"what is left?","at":1700000050000,"open":true}
//! {"type":"withdrawn"}
//! {"type":"compacted","history":[{"role":"user","parts":[{"type":"text","text":"what is left to do?"}]}]}
//! {"type":"cleared"}
//! ```
//!
//! Lines are only ever added, as things happen: a prompt when it is sent, an answer with its calls when it is there, a call
//! before it begins, each result. So a turn in which the program is killed is there as far as it came, with the call that
//! may have done something. When a turn ends, a store in files tells the disk to keep it. Nobody waits for that, so after a
//! power cut the last moments may be missing, and of a turn that still ran, whatever the system had not written yet. The
//! next process tells its user and the model that the turn was cut off. A line that is damaged costs itself and nothing
//! else, and that is told too.
//!
//! A reader skips lines of a type that it does not know, so a later version may add types. To change the existing ones, it
//! has to write another number in `version`. In older files the lines of a turn were added together when it had ended: a
//! prompt without `open` is of such a turn.

mod cut_off;

use headstart_forked_query::{Message, Part, Role, repair_pairing};
use headstart_overlay_fs::ContentHash;
use headstart_speculation::{CallStage, Origin};
use headstart_toolbox::Wording;
use serde::{Deserialize, Serialize};

use self::cut_off::OpenTurn;
use crate::item::{CallItem, Item};

/// The version that is written.
const VERSION: u32 = 1;
/// How many characters of the first prompt are the title until there is another one.
const TITLE_CHARS: usize = 60;
/// How many things are named that a turn had done, and how many damaged lines.
const MOST_TOLD: usize = 10;
/// A conversation as far as it was kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Session {
    /// The id, unique in its workspace.
    pub id: String,
    /// The beginning of the first prompt, or the title that the conversation was given; empty if nothing was said since
    /// a `/clear`.
    pub title: String,
    /// The model with which the conversation began.
    pub model: String,
    /// When the conversation began, in milliseconds since the Unix epoch.
    pub created: u64,
    /// The workspace of the conversation, if it was written down.
    pub workspace: Option<String>,
    /// When its last prompt was sent, in milliseconds since the Unix epoch.
    pub last: u64,
    /// What was said, oldest first, as a history that a model accepts.
    pub history: Vec<Message>,
    /// The user's prompts, oldest first, including those before a `/clear`.
    pub prompts: Vec<String>,
    /// When each of the prompts was sent, in milliseconds since the Unix epoch.
    pub(crate) sent: Vec<u64>,
    /// How many of the prompts are from before the last `/clear`.
    pub(crate) cleared: usize,
    /// How many bytes at the end of the file are an incomplete line, because its writer was stopped.
    pub torn: usize,
    /// The numbers of the lines that are damaged, counted from 1.
    pub damaged: Vec<usize>,
    /// In words for the user, what was done in the last turn if it has no end, because its writer was stopped.
    pub cut_off: Option<String>,
    /// The turn that has no end yet.
    open: Option<OpenTurn>,
    /// The items of the conversation.
    pub(crate) items: Vec<Item>,
    /// What the model has to know before the user's next words; empty if there is nothing.
    pub(crate) note: String,
    /// The turns of which was told that they were taken back.
    pub(crate) undone: Vec<ContentHash>,
}

/// Why a session cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// It was written by a newer version than this one.
    #[error("it is of version {version}, and this program knows {VERSION}: a newer one reads it")]
    Newer {
        /// The version.
        version: u32,
    },
    /// It does not begin with a line of the type `session`.
    #[error("it does not begin as a session does")]
    NoSession,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum SessionLine {
    Session {
        version: u32,
        id: String,
        title: String,
        model: String,
        created: u64,
        /// The root of the workspace. Older lines do not have it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    Prompt {
        text: String,
        /// When it was sent. In lines without `ended`, this is when its turn had ended.
        at: u64,
        /// When its turn had ended, in older lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<u64>,
        /// Whether its turn had not ended when the line was written; the end has a line of its own.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
    },
    /// A call has begun.
    Begun {
        id: String,
    },
    /// Work that ran ahead is about to be applied. What it said follows once it is.
    Accepting,
    /// The turn is over.
    Ended {
        at: u64,
    },
    /// The turn is over without an answer, so its prompt is no part of the conversation.
    Withdrawn,
    Message {
        message: Message,
    },
    Title {
        text: String,
    },
    Cleared,
    /// What the model has to know before the user's next words; this takes the place of an earlier note.
    Note {
        text: String,
    },
    /// The changes of a turn were taken back, and that is told.
    Undone {
        turn: ContentHash,
    },
    /// From here on the model has this history in place of everything before.
    Compacted {
        history: Vec<Message>,
    },
    #[serde(other)]
    Unknown,
}

impl Session {
    /// Reads what was kept. A last line without an end was being written when its writer was stopped: it is left out,
    /// and its bytes are counted. A damaged line is left out, too.
    pub fn read(bytes: &[u8]) -> Result<Self, SessionError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (bytes, torn) = bytes.split_at(whole);
        let mut session: Option<Self> = None;
        let mut damaged = Vec::new();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            match (session.as_mut(), serde_json::from_slice(line)) {
                (None, Ok(SessionLine::Session { version, id, title, model, created, workspace })) => {
                    if VERSION < version {
                        return Err(SessionError::Newer { version });
                    }
                    session = Some(Self { workspace, ..Self::new(id, title, model, created) });
                }
                (Some(session), Ok(line)) => session.apply(line),
                // The first line may be what is damaged.
                (None, Ok(SessionLine::Prompt { text, at, ended, open })) if damaged == [1] => {
                    let mut begun = Self::new(String::new(), one_line(&text), String::new(), at);
                    begun.apply(SessionLine::Prompt { text, at, ended, open });
                    session = Some(begun);
                }
                (None, Ok(_)) => return Err(SessionError::NoSession),
                (_, Err(_)) => damaged.push(number + 1),
            }
        }
        let mut session = session.ok_or(SessionError::NoSession)?;
        (session.torn, session.damaged) = (torn.len(), damaged);
        session.close_cut_off();
        session.history = repair_pairing(std::mem::take(&mut session.history));
        Ok(session)
    }

    fn new(id: String, title: String, model: String, created: u64) -> Self {
        Self {
            id,
            title,
            model,
            created,
            workspace: None,
            last: created,
            history: Vec::new(),
            prompts: Vec::new(),
            sent: Vec::new(),
            cleared: 0,
            torn: 0,
            damaged: Vec::new(),
            cut_off: None,
            open: None,
            items: Vec::new(),
            note: String::new(),
            undone: Vec::new(),
        }
    }

    fn apply(&mut self, line: SessionLine) {
        match line {
            SessionLine::Prompt { text, at, open, .. } => {
                self.close_cut_off();
                self.last = at;
                if open {
                    self.open = Some(OpenTurn {
                        prompt: text.clone(),
                        history: self.history.len(),
                        items: self.items.len(),
                        begun: Vec::new(),
                        is_accepting: false,
                        has_messages: false,
                    });
                } else {
                    self.note.clear();
                }
                self.prompts.push(text.clone());
                self.sent.push(at);
                self.items.push(Item::Prompt { text });
            }
            SessionLine::Message { message } => {
                self.note.clear();
                if let Some(turn) = &mut self.open {
                    turn.has_messages = true;
                }
                self.add_items(&message);
                match self.history.last_mut() {
                    // The results of one answer are one message.
                    Some(last) if last.role == Role::Tool && message.role == Role::Tool => {
                        last.parts.extend(message.parts);
                    }
                    _ => self.history.push(message),
                }
            }
            SessionLine::Begun { id } => {
                if let Some(turn) = &mut self.open {
                    turn.begun.push(id);
                }
            }
            SessionLine::Accepting => {
                if let Some(turn) = &mut self.open {
                    turn.is_accepting = true;
                }
            }
            SessionLine::Ended { .. } => {
                self.close_cut_off();
                self.cut_off = None;
            }
            SessionLine::Withdrawn => {
                if let Some(turn) = self.open.take() {
                    self.history.truncate(turn.history);
                    self.items.truncate(turn.items);
                    self.prompts.pop();
                    self.sent.pop();
                }
            }
            SessionLine::Title { text } => self.title = text,
            SessionLine::Cleared => {
                self.cleared = self.prompts.len();
                self.open = None;
                self.title.clear();
                self.history.clear();
                self.items.clear();
                self.note.clear();
            }
            SessionLine::Note { text } => self.note = text,
            SessionLine::Undone { turn } => self.undone.push(turn),
            SessionLine::Compacted { history } => {
                if let Some(turn) = &mut self.open {
                    turn.history = history.len();
                }
                self.history = history;
            }
            SessionLine::Session { .. } | SessionLine::Unknown => {}
        }
    }

    /// In words for the user, which lines are damaged; `None` if none is.
    pub(crate) fn damaged_lines(&self) -> Option<String> {
        let numbers: Vec<_> = self.damaged.iter().take(MOST_TOLD).map(ToString::to_string).collect();
        let more = if MOST_TOLD < self.damaged.len() { ", …" } else { "" };
        match self.damaged.len() {
            0 => None,
            1 => Some(format!("line {} of what was kept is damaged and left out", numbers[0])),
            count => Some(format!(
                "{count} lines of what was kept are damaged and left out: {}{more}",
                numbers.join(", ")
            )),
        }
    }

    /// Makes items of a message. The user's words are left out, because the line of the prompt has them.
    fn add_items(&mut self, message: &Message) {
        for part in &message.parts {
            match part {
                Part::Text { text } if message.role == Role::Model => {
                    self.items.push(Item::Answer { text: text.clone() });
                }
                Part::ToolCall(call) => {
                    let wording = Wording::of(&call.name);
                    // A call is shown as canceled until its result comes, because a call without one did not run to its
                    // end.
                    let call = CallItem::new(call.clone(), CallStage::Canceled, Origin::Turn, &wording);
                    self.items.push(Item::Call(Box::new(call)));
                }
                Part::ToolResult(result) => {
                    let open = self.items.iter_mut().rev().find_map(|item| match item {
                        Item::Call(item) if item.call.id == result.id && item.outcome.is_none() => Some(item),
                        _ => None,
                    });
                    if let Some(item) = open {
                        item.stage = CallStage::Calling;
                        item.end(result.outcome.clone(), Vec::new(), &Wording::of(&result.name));
                    }
                }
                _ => {}
            }
        }
    }

    /// What was said, as a front end shows it.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many turns there were since the beginning, or since a `/clear`.
    pub fn turns(&self) -> usize {
        self.items.iter().filter(|item| matches!(item, Item::Prompt { .. })).count()
    }

    /// Whether these lines contain the end of a turn.
    #[cfg(feature = "native")]
    pub(crate) fn ends_turn(lines: &str) -> bool {
        lines.lines().any(|line| line.starts_with("{\"type\":\"ended\""))
    }

    /// The line that gives a session another title.
    pub fn title_line(title: &str) -> String {
        line(&SessionLine::Title { text: one_line(title) })
    }
}

/// The first line of a session. An empty `workspace` means that it has none.
pub(crate) fn header((id, workspace): (&str, &str), title: &str, model: &str, created: u64) -> String {
    line(&SessionLine::Session {
        version: VERSION,
        id: id.to_owned(),
        title: one_line(title),
        model: model.to_owned(),
        created,
        workspace: (!workspace.is_empty()).then(|| workspace.to_owned()),
    })
}

/// The line of a prompt whose turn begins.
pub(crate) fn prompt(text: &str, at: u64) -> String {
    line(&SessionLine::Prompt { text: text.to_owned(), at, ended: None, open: true })
}

/// The line of a message, or of one result.
pub(crate) fn message(message: &Message) -> String {
    line(&SessionLine::Message { message: message.clone() })
}

/// The line of a call that has begun.
pub(crate) fn begun(id: &str) -> String {
    line(&SessionLine::Begun { id: id.to_owned() })
}

/// The line of work that ran ahead and is about to be applied.
pub(crate) fn accepting() -> String {
    line(&SessionLine::Accepting)
}

/// The line of the end of a turn.
pub(crate) fn ended(at: u64) -> String {
    line(&SessionLine::Ended { at })
}

/// The line of the end of a turn that got no answer.
pub(crate) fn withdrawn() -> String {
    line(&SessionLine::Withdrawn)
}

/// The line after which nothing that was said before is known.
pub(crate) fn cleared() -> String {
    line(&SessionLine::Cleared)
}

/// The line of what the model has to know before the user's next words.
pub(crate) fn note(text: &str) -> String {
    line(&SessionLine::Note { text: text.to_owned() })
}

/// The line of a turn that was taken back, of which was told.
pub(crate) fn undone(turn: ContentHash) -> String {
    line(&SessionLine::Undone { turn })
}

/// The line after which the model has this history in place of everything before.
pub(crate) fn compacted(history: &[Message]) -> String {
    line(&SessionLine::Compacted { history: history.to_vec() })
}

fn line(line: &SessionLine) -> String {
    // This cannot fail: messages come from JSON, and text always is valid JSON.
    serde_json::to_string(line).map(|text| text + "\n").unwrap_or_default()
}

/// Makes a title of one line, short enough to stand beside a date.
fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let words = words.join(" ");
    if words.chars().count() <= TITLE_CHARS {
        return words;
    }
    words.chars().take(TITLE_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
