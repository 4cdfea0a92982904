//! Calls that a model writes as words although its tools were offered in their own fields: what it was trained on, which
//! its server did not read.
//!
//! A model that repeats a file or a web page may write such words without meaning a call. So only whole blocks count with
//! which the answer ends: outside fences, quotes and indented code, of offered tools with arguments that these take, and
//! not as somebody else wrote them in the conversation. Everything else that looks like one is reported and not run.

mod forms;
mod scanner;
mod schema;

use std::collections::HashSet;

use headstart_forked_query::{
    FinishReason, Message, ModelEvent, ModelRequest, Part, Role, ToolSchema, free_id,
};

use self::forms::WrittenCall;
use self::scanner::Scanner;
use super::read::TextCall;
use crate::wire::encoding;

/// Reads the words of one answer. Words that may be calls are held back until the answer has ended.
pub(super) struct WrittenCalls {
    tools: Vec<ToolSchema>,
    /// The conversation before the answer.
    messages: Vec<Message>,
    /// The ids of all calls, for choosing new ones.
    taken: HashSet<String>,
    text: String,
    /// How many bytes of the text were passed on.
    emitted: usize,
    scanner: Scanner,
    /// Where the first words begin that may be a call.
    held_from: Option<usize>,
    has_calls: bool,
}

/// What the end of an answer is.
enum Tail {
    Words,
    /// Calls, and where they begin.
    Calls(usize, Vec<TextCall>),
    /// It looks like a call, and is not run.
    Unread,
}

impl WrittenCalls {
    pub(super) fn new(request: &ModelRequest) -> Self {
        let parts = request.messages.iter().flat_map(|message| &message.parts);
        let taken = parts.filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        });
        Self {
            tools: request.tools.clone(),
            messages: request.messages.clone(),
            taken: taken.collect(),
            text: String::new(),
            emitted: 0,
            scanner: Scanner::default(),
            held_from: None,
            has_calls: false,
        }
    }

    /// Takes an event of the answer, and gives what is passed on in its place.
    pub(super) fn handle(&mut self, event: ModelEvent) -> Vec<ModelEvent> {
        match event {
            ModelEvent::Text(text) => self.push(&text),
            ModelEvent::Finished(reason) => self.end(reason),
            ModelEvent::ToolCall(call) => {
                self.has_calls = true;
                let mut events = self.emit_to(self.text.len());
                events.push(ModelEvent::ToolCall(call));
                events
            }
            other => vec![other],
        }
    }

    /// What was held back, if the answer breaks off.
    pub(super) fn break_off(&mut self) -> Vec<ModelEvent> {
        self.emit_to(self.text.len())
    }

    fn push(&mut self, text: &str) -> Vec<ModelEvent> {
        self.text.push_str(text);
        if self.held_from.is_none() {
            self.held_from = self.scanner.next(&self.text, false);
        }
        let end = self.held_from.unwrap_or_else(|| self.scanner.safe_end(&self.text));
        self.emit_to(end)
    }

    fn end(&mut self, reason: FinishReason) -> Vec<ModelEvent> {
        let is_whole = reason == FinishReason::Stop && !self.has_calls;
        let tail = if is_whole { self.tail() } else { Tail::Words };
        let mut events = Vec::new();
        let mut reason = reason;
        match tail {
            Tail::Words => events.extend(self.emit_to(self.text.len())),
            Tail::Unread => {
                events.extend(self.emit_to(self.text.len()));
                reason = FinishReason::WrittenCall;
            }
            Tail::Calls(start, calls) => {
                events.extend(self.emit_to(self.text[..start].trim_end().len()));
                for call in calls {
                    let id = free_id("call", &self.taken);
                    self.taken.insert(id.clone());
                    events.push(ModelEvent::ToolCall(call.with_id(id)));
                }
            }
        }
        events.push(ModelEvent::Finished(reason));
        events
    }

    fn emit_to(&mut self, end: usize) -> Vec<ModelEvent> {
        if end <= self.emitted {
            return Vec::new();
        }
        let text = self.text[self.emitted..end].to_owned();
        self.emitted = end;
        vec![ModelEvent::Text(text)]
    }

    fn tail(&self) -> Tail {
        let mut scanner = Scanner::default();
        let mut is_unread = false;
        while let Some(start) = scanner.next(&self.text, true) {
            let block = &self.text[start..];
            match forms::parse(block) {
                Some(written) if written.iter().all(|call| self.is_meant(call)) => {
                    let calls = written.into_iter().filter_map(|call| self.call(call)).collect();
                    return Tail::Calls(start, calls);
                }
                Some(written) => is_unread |= forms::is_tagged(block) || self.names_tool(&written),
                None => is_unread |= self.begins_as_call(block),
            }
        }
        is_unread |= scanner.last_fence(&self.text).is_some_and(|fenced| match forms::parse(fenced) {
            Some(written) => self.names_tool(&written),
            None => self.begins_as_call(fenced),
        });
        if is_unread { Tail::Unread } else { Tail::Words }
    }

    /// Whether the model means this as a call: its tool takes these arguments, and nobody else has written it.
    fn is_meant(&self, call: &WrittenCall<'_>) -> bool {
        self.call(call.clone()).is_some() && !self.has_read(&without_space(call.source))
    }

    /// Whether these words stand in what the model has read in this conversation, and not written itself.
    fn has_read(&self, words: &str) -> bool {
        let of_others = self.messages.iter().filter(|message| message.role != Role::Model);
        of_others.flat_map(|message| &message.parts).any(|part| match part {
            Part::Text { text } => without_space(text).contains(words),
            Part::ToolResult(result) => without_space(&encoding::outcome_text(result)).contains(words),
            _ => false,
        })
    }

    fn call(&self, call: WrittenCall<'_>) -> Option<TextCall> {
        let tool = self.tools.iter().find(|tool| tool.name == call.name)?;
        let args = schema::arguments(call.arguments, &tool.parameters)?;
        Some(TextCall { name: call.name, args })
    }

    fn names_tool(&self, written: &[WrittenCall<'_>]) -> bool {
        written.iter().any(|call| self.tools.iter().any(|tool| tool.name == call.name))
    }

    /// Whether these words begin as a call of a tool, and end in its middle.
    fn begins_as_call(&self, text: &str) -> bool {
        (forms::is_tagged(text) && self.mentions_tool(text)) || self.begins_as_json(text)
    }

    /// Whether the name of a tool stands near the beginning of the words.
    fn mentions_tool(&self, text: &str) -> bool {
        const NEAR: usize = 200;
        let start: String = text.chars().take(NEAR).collect();
        let words = start.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
        words.into_iter().any(|word| self.tools.iter().any(|tool| tool.name == word))
    }

    /// The same for a call in JSON without a tag.
    fn begins_as_json(&self, text: &str) -> bool {
        let start = without_space(&text.chars().take(200).collect::<String>());
        let start = start.trim_start_matches('[');
        let name = start.strip_prefix("{\"name\":\"").and_then(|rest| rest.split('"').next());
        name.is_some_and(|name| self.tools.iter().any(|tool| tool.name == name))
            && (start.contains("\"arguments\":") || start.contains("\"parameters\":"))
    }
}

/// The words without white space, in which a quotation differs most often.
fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests;
