//! A conversation as lines of JSON, so that it can be gone on with in another process.
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
//! Lines are only ever added, those of a turn together when it has ended. A reader leaves out lines of a type that it does not know, so a later
//! version may add some; what it may not do without a new number in `version` is change these.

use headstart_forked_query::{Cause, Message, Part, Role, repair_pairing};
use headstart_speculation::{CallStage, Origin};
use headstart_toolbox::Wording;
use serde::{Deserialize, Serialize};

use crate::item::{CallItem, Item};

/// The version that is written.
const VERSION: u32 = 1;
/// So much of the first prompt is the title until there is another one.
const TITLE_CHARS: usize = 60;

/// A conversation that was kept, as far as it came.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Session {
    /// Names it among those of its workspace.
    pub id: String,
    /// The beginning of the first prompt, or what its user has called it.
    pub title: String,
    /// The model it began with.
    pub model: String,
    /// When it began, in milliseconds since the Unix epoch.
    pub created: u64,
    /// Of which workspace it is, where that was written down.
    pub workspace: Option<String>,
    /// When its last prompt was sent.
    pub last: u64,
    /// What was said, oldest first: a legal history.
    pub history: Vec<Message>,
    /// The user's prompts, oldest first, those before a `/clear` too.
    pub prompts: Vec<String>,
    /// Of how many bytes at its end nothing is known, because whoever wrote them was stopped.
    pub torn: usize,
    /// The items of the conversation.
    pub(crate) items: Vec<Item>,
}

/// Why a session cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Whoever wrote it knows more than we do.
    #[error("it is of version {version}, and this program knows {VERSION}: a newer one reads it")]
    Newer {
        /// Its version.
        version: u32,
    },
    /// It does not begin with a line of the type `session`.
    #[error("it does not begin as a session does")]
    NoSession,
    /// A line within it is damaged.
    #[error("line {number} is damaged: {source}")]
    Damaged {
        /// Which, counted from 1.
        number: usize,
        /// What is wrong with it.
        source: Cause,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Line {
    Session {
        version: u32,
        id: String,
        title: String,
        model: String,
        created: u64,
        /// The root of the workspace. Older lines have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    },
    Prompt {
        text: String,
        /// When it was sent. Lines without `ended` have the end of its turn here.
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
    /// What was said before is this, for the model, from here on.
    Compacted {
        history: Vec<Message>,
    },
    #[serde(other)]
    Unknown,
}

impl Session {
    /// Reads what was kept. A last line without an end was being written when its writer was stopped: it is left out, and counted.
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
                (None, Ok(Line::Session { version, id, title, model, created, workspace })) => {
                    if VERSION < version {
                        return Err(SessionError::Newer { version });
                    }
                    session = Some(Self { workspace, ..Self::new(id, title, model, created) });
                }
                (None, _) => return Err(SessionError::NoSession),
                (Some(session), line) => session.take_in(line.map_err(damaged)?),
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
        }
    }

    fn take_in(&mut self, line: Line) {
        match line {
            Line::Prompt { text, at, .. } => {
                self.last = at;
                self.prompts.push(text.clone());
                self.items.push(Item::Prompt { text });
            }
            Line::Message { message } => {
                self.show(&message);
                self.history.push(message);
            }
            Line::Title { text } => self.title = text,
            Line::Cleared => {
                self.history.clear();
                self.items.clear();
            }
            Line::Compacted { history } => self.history = history,
            Line::Session { .. } | Line::Unknown => {}
        }
    }

    /// Makes items of a message. The user's words are those of the prompt.
    fn show(&mut self, message: &Message) {
        for part in &message.parts {
            match part {
                Part::Text { text } if message.role == Role::Model => {
                    self.items.push(Item::Answer { text: text.clone() });
                }
                Part::ToolCall(call) => {
                    let wording = Wording::of(&call.name);
                    // One without a result was not let run to its end.
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

    /// What was said as a front end shows it.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The line that gives a session another title.
    pub fn title_line(title: &str) -> String {
        line(&Line::Title { text: one_line(title) })
    }
}

/// The line with which a session begins, one of this id and workspace; without a workspace it is of none.
pub(crate) fn header((id, workspace): (&str, &str), title: &str, model: &str, created: u64) -> String {
    line(&Line::Session {
        version: VERSION,
        id: id.to_owned(),
        title: one_line(title),
        model: model.to_owned(),
        created,
        workspace: (!workspace.is_empty()).then(|| workspace.to_owned()),
    })
}

/// The lines of a turn that was asked for and ended at these times.
pub(crate) fn turn(prompt: &str, (at, ended): (u64, u64), messages: &[Message]) -> String {
    let prompt = line(&Line::Prompt { text: prompt.to_owned(), at, ended: Some(ended) });
    let messages = messages.iter().map(|message| line(&Line::Message { message: message.clone() }));
    std::iter::once(prompt).chain(messages).collect()
}

/// The line after which nothing of what was said before is known.
pub(crate) fn cleared() -> String {
    line(&Line::Cleared)
}

/// The line after which the model knows this of what was said before.
pub(crate) fn compacted(history: &[Message]) -> String {
    line(&Line::Compacted { history: history.to_vec() })
}

fn line(line: &Line) -> String {
    // Messages were JSON before, and text always is.
    serde_json::to_string(line).map(|text| text + "\n").unwrap_or_default()
}

/// A title: one line, and no longer than fits beside a date.
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
