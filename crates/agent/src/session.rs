//! A conversation as lines of JSON, so that another process can continue it.
//!
//! ```text
//! {"type":"session","version":1,"id":"k3v9","title":"fix the parser","model":"m","created":1700000000000,"workspace":"/home/a/parser"}
//! {"type":"prompt","text":"fix the parser","at":1700000000000,"ended":1700000042000}
//! {"type":"message","message":{"role":"user","parts":[{"type":"text","text":"fix the parser"}]}}
//! {"type":"message","message":{"role":"model","parts":[{"type":"text","text":"It is fixed."}]}}
//! {"type":"title","text":"the parser"}
//! {"type":"compacted","history":[{"role":"user","parts":[{"type":"text","text":"what is left to do?"}]}]}
//! {"type":"cleared"}
//! ```
//!
//! Lines are only ever added; those of a turn are added together when it has ended. A reader skips lines of a type that
//! it does not know, so a later version may add types. To change the existing ones, it has to write another number in
//! `version`.

use headstart_forked_query::{Cause, Message, Part, Role, repair_pairing};
use headstart_speculation::{CallStage, Origin};
use headstart_toolbox::Wording;
use serde::{Deserialize, Serialize};

use crate::item::{CallItem, Item};

/// The version that is written.
const VERSION: u32 = 1;
/// How many characters of the first prompt are the title until there is another one.
const TITLE_CHARS: usize = 60;

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
    /// How many bytes at the end of the file are an incomplete line, because its writer was stopped.
    pub torn: usize,
    /// The items of the conversation.
    pub(crate) items: Vec<Item>,
    /// What the model has to know before the user's next words; empty if there is nothing.
    pub(crate) note: String,
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
    /// A line within the file is damaged.
    #[error("line {number} is damaged: {source}")]
    Damaged {
        /// The number of the line, counted from 1.
        number: usize,
        /// What is wrong with it.
        source: Cause,
    },
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
        /// When its turn had ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended: Option<u64>,
    },
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
    /// From here on the model has this history in place of everything before.
    Compacted {
        history: Vec<Message>,
    },
    #[serde(other)]
    Unknown,
}

impl Session {
    /// Reads what was kept. A last line without an end was being written when its writer was stopped: it is left out,
    /// and its bytes are counted.
    pub fn read(bytes: &[u8]) -> Result<Self, SessionError> {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (bytes, torn) = bytes.split_at(whole);
        let mut session = None;
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let damaged =
                |error: serde_json::Error| SessionError::Damaged { number: number + 1, source: error.into() };
            match (session.as_mut(), serde_json::from_slice(line)) {
                (None, Ok(SessionLine::Session { version, id, title, model, created, workspace })) => {
                    if VERSION < version {
                        return Err(SessionError::Newer { version });
                    }
                    session = Some(Self { workspace, ..Self::new(id, title, model, created) });
                }
                (None, _) => return Err(SessionError::NoSession),
                (Some(session), line) => session.apply(line.map_err(damaged)?),
            }
        }
        let mut session = session.ok_or(SessionError::NoSession)?;
        session.torn = torn.len();
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
            torn: 0,
            items: Vec::new(),
            note: String::new(),
        }
    }

    fn apply(&mut self, line: SessionLine) {
        match line {
            SessionLine::Prompt { text, at, .. } => {
                self.last = at;
                self.note.clear();
                self.prompts.push(text.clone());
                self.items.push(Item::Prompt { text });
            }
            SessionLine::Message { message } => {
                self.add_items(&message);
                self.history.push(message);
            }
            SessionLine::Title { text } => self.title = text,
            SessionLine::Cleared => {
                self.title.clear();
                self.history.clear();
                self.items.clear();
                self.note.clear();
            }
            SessionLine::Note { text } => self.note = text,
            SessionLine::Compacted { history } => self.history = history,
            SessionLine::Session { .. } | SessionLine::Unknown => {}
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

/// The lines of a turn; `at` is when its prompt was sent, `ended` when it had ended.
pub(crate) fn turn(prompt: &str, (at, ended): (u64, u64), messages: &[Message]) -> String {
    let prompt = line(&SessionLine::Prompt { text: prompt.to_owned(), at, ended: Some(ended) });
    let messages = messages.iter().map(|message| line(&SessionLine::Message { message: message.clone() }));
    std::iter::once(prompt).chain(messages).collect()
}

/// The line after which nothing that was said before is known.
pub(crate) fn cleared() -> String {
    line(&SessionLine::Cleared)
}

/// The line of what the model has to know before the user's next words.
pub(crate) fn note(text: &str) -> String {
    line(&SessionLine::Note { text: text.to_owned() })
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
