use std::collections::{HashSet, VecDeque};
use std::hash::BuildHasher;

use crate::{Message, Part, Role, ToolCall, ToolOutcome, ToolResult};

/// Why a provider would not accept a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PairingError {
    /// A call in a message that the model did not write.
    #[error("history entry {entry}: only a model message may hold a toolCall")]
    CallOutsideModel {
        /// Index of the message, from 0.
        entry: usize,
    },
    /// An opaque part in a message that the model did not write.
    #[error("history entry {entry}: only a model message may hold an opaque part")]
    OpaqueOutsideModel {
        /// Index of the message, from 0.
        entry: usize,
    },
    /// An image in a message that the user did not write.
    #[error("history entry {entry}: only a user message may hold an image")]
    ImageOutsideUser {
        /// Index of the message, from 0.
        entry: usize,
    },
    /// A result outside a tool message, or something else inside one.
    #[error("history entry {entry}: a toolResult belongs in a tool message, and nothing else does")]
    ResultOutsideTool {
        /// Index of the message, from 0.
        entry: usize,
    },
    /// A call has no id.
    #[error("history entry {entry}: a toolCall has an empty id")]
    EmptyId {
        /// Index of the message, from 0.
        entry: usize,
    },
    /// Two calls have the same id.
    #[error("history entry {entry}: the id {id:?} is used by an earlier call; ids must be unique")]
    DuplicateId {
        /// Index of the message of the second call, from 0.
        entry: usize,
        /// The id.
        id: String,
    },
    /// A call without a result before the conversation went on.
    #[error(
        "history entry {entry}: the call {id:?} has no result; add a tool message with its result right after it"
    )]
    MissingResult {
        /// Index of the message of the call, from 0.
        entry: usize,
        /// The id.
        id: String,
    },
    /// A result without a call, a second result, or a result out of order.
    #[error(
        "history entry {entry}: the result {id:?} answers no call that waits for it{}",
        expected.as_ref().map(|id| format!("; the next one must be for {id:?}")).unwrap_or_default()
    )]
    UnexpectedResult {
        /// Index of the message of the result, from 0.
        entry: usize,
        /// The id of the result.
        id: String,
        /// The id of the call whose result should come here, if there is one.
        expected: Option<String>,
    },
}

/// Whether a conversation is legal: ids are unique and not empty, and the results of a model message's calls follow
/// it directly, one for each call, in the order of the calls, in one or more tool messages.
pub fn check_pairing(messages: &[Message]) -> Result<(), PairingError> {
    let mut checker = Checker::default();
    for (entry, message) in messages.iter().enumerate() {
        checker.check(entry, message)?;
    }
    checker.nothing_waits()
}

/// Makes a conversation legal: a call without a result gets one that says so, a result without a call is removed, and
/// ids that are empty or used twice are replaced. What the user and the model said stays, and so do legal stretches.
///
/// A result is searched for up to the next message of the model, so one that came late (after the user's next words)
/// is moved to its call.
pub fn repair_pairing(messages: Vec<Message>) -> Vec<Message> {
    if check_pairing(&messages).is_ok() {
        return messages;
    }
    let mut taken = HashSet::new();
    let mut repaired = Vec::with_capacity(messages.len());
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        let mut stretch = vec![message];
        while let Some(next) = messages.next_if(|next| next.role != Role::Model) {
            stretch.push(next);
        }
        repair_stretch(stretch, &mut taken, &mut repaired);
    }
    repaired
}

/// The result that is given to a call without one.
const NO_RESULT: &str =
    "no result of this call was recorded; it was interrupted, and whether it had an effect is not known";

/// Repairs the messages between one of the model (or the beginning) and the next one.
fn repair_stretch(stretch: Vec<Message>, taken: &mut HashSet<String>, repaired: &mut Vec<Message>) {
    let fresh = stretch.iter().flat_map(Message::tool_calls).all(|call| !taken.contains(&call.id));
    if fresh && check_pairing(&stretch).is_ok() {
        taken.extend(stretch.iter().flat_map(Message::tool_calls).map(|call| call.id.clone()));
        repaired.extend(stretch);
        return;
    }
    let mut results: Vec<ToolResult> = Vec::new();
    let mut said = Vec::new();
    for mut message in stretch {
        let had_parts = !message.parts.is_empty();
        let model = message.role == Role::Model;
        message.parts.retain_mut(|part| match part {
            Part::Text { .. } => message.role != Role::Tool,
            Part::Image(_) => message.role == Role::User,
            Part::ToolCall(_) | Part::Opaque(_) => model,
            Part::ToolResult(result) => {
                results.push(result.clone());
                false
            }
        });
        if message.role != Role::Tool && (!had_parts || !message.parts.is_empty()) {
            said.push(message);
        }
    }
    for mut message in said {
        let answers: Vec<Part> = message
            .parts
            .iter_mut()
            .filter_map(|part| match part {
                Part::ToolCall(call) => Some(Part::ToolResult(answer(call, &mut results, taken))),
                _ => None,
            })
            .collect();
        repaired.push(message);
        if !answers.is_empty() {
            repaired.push(Message { role: Role::Tool, parts: answers });
        }
    }
}

/// The result of a call, with an id that no other call has.
fn answer(call: &mut ToolCall, results: &mut Vec<ToolResult>, taken: &mut HashSet<String>) -> ToolResult {
    let found = results.iter().position(|result| result.id == call.id);
    let outcome = match found {
        Some(index) => results.remove(index).outcome,
        None => ToolOutcome::Error(NO_RESULT.into()),
    };
    call.id = free_id(&call.id, taken);
    taken.insert(call.id.clone());
    ToolResult { id: call.id.clone(), name: call.name.clone(), outcome }
}

/// The id itself, or the first of `id-2`, `id-3`, … that is not taken.
pub fn free_id<S: BuildHasher>(id: &str, taken: &HashSet<String, S>) -> String {
    let base = if id.is_empty() { "call" } else { id };
    if !taken.contains(base) {
        return base.to_owned();
    }
    (2_u64..=u64::MAX)
        .map(|number| format!("{base}-{number}"))
        .find(|id| !taken.contains(id))
        .expect("works because the set is finite and the numbers are not")
}

#[derive(Default)]
struct Checker {
    seen: HashSet<String>,
    /// The calls that have no result yet, and the message they are in.
    waiting: VecDeque<String>,
    calls_entry: usize,
}

impl Checker {
    fn check(&mut self, entry: usize, message: &Message) -> Result<(), PairingError> {
        if message.role != Role::Tool {
            self.nothing_waits()?;
            self.calls_entry = entry;
        }
        for part in &message.parts {
            match (part, message.role) {
                (Part::Text { .. }, Role::User | Role::Model)
                | (Part::Image(_), Role::User)
                | (Part::Opaque(_), Role::Model) => {}
                (Part::Image(_), _) => return Err(PairingError::ImageOutsideUser { entry }),
                (Part::Text { .. }, Role::Tool) | (Part::ToolResult(_), Role::User | Role::Model) => {
                    return Err(PairingError::ResultOutsideTool { entry });
                }
                (Part::ToolCall(call), Role::Model) => self.call(entry, &call.id)?,
                (Part::Opaque(_), _) => return Err(PairingError::OpaqueOutsideModel { entry }),
                (Part::ToolCall(_), _) => return Err(PairingError::CallOutsideModel { entry }),
                (Part::ToolResult(result), Role::Tool) => self.result(entry, &result.id)?,
            }
        }
        Ok(())
    }

    fn call(&mut self, entry: usize, id: &str) -> Result<(), PairingError> {
        if id.is_empty() {
            return Err(PairingError::EmptyId { entry });
        }
        if !self.seen.insert(id.to_owned()) {
            return Err(PairingError::DuplicateId { entry, id: id.to_owned() });
        }
        self.waiting.push_back(id.to_owned());
        Ok(())
    }

    fn result(&mut self, entry: usize, id: &str) -> Result<(), PairingError> {
        match self.waiting.pop_front() {
            Some(expected) if expected == id => Ok(()),
            expected => Err(PairingError::UnexpectedResult { entry, id: id.to_owned(), expected }),
        }
    }

    fn nothing_waits(&self) -> Result<(), PairingError> {
        match self.waiting.front() {
            None => Ok(()),
            Some(id) => Err(PairingError::MissingResult { entry: self.calls_entry, id: id.clone() }),
        }
    }
}

#[cfg(test)]
mod tests;
