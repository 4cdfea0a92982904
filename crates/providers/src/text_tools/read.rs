//! Finds calls in the words of an answer while they come piece by piece.

use headstart_forked_query::ToolCall;
use serde_json::{Map, Value};

use crate::wire::arguments;

/// The word behind the fence of a call.
pub(super) const CALL: &str = "tool_call";

/// What the words of an answer contain.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Segment {
    /// Words to show.
    Text(String),
    /// A call.
    Call(TextCall),
    /// Words behind a call, before which the answer ends.
    End,
}

/// A call without an id.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextCall {
    pub(super) name: String,
    pub(super) args: Map<String, Value>,
}

impl TextCall {
    pub(super) fn with_id(self, id: String) -> ToolCall {
        ToolCall { id, name: self.name, args: self.args }
    }
}

/// Separates words and calls. The result does not depend on how the words are split into pieces.
///
/// A call stands between two lines of its own: three or more backticks followed by the word, and the same number of
/// backticks again. White space before a call is dropped.
#[derive(Debug, Default)]
pub(super) struct CallReader {
    /// What was not returned yet: white space, the beginning of a line that may open a call, or an unfinished call.
    held: String,
    /// The offset of its last line.
    line: usize,
    state: ReaderState,
    has_calls: bool,
    has_ended: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ReaderState {
    /// In a line that may still open a call.
    #[default]
    Undecided,
    /// In a line of words.
    Words,
    /// In a call, behind a fence of this many backticks.
    Call { fence: usize },
}

impl CallReader {
    /// Takes the next piece of the words.
    pub(super) fn push(&mut self, text: &str) -> Vec<Segment> {
        let mut segments = Vec::new();
        for letter in text.chars() {
            if self.has_ended {
                break;
            }
            self.held.push(letter);
            self.handle_char(letter, &mut segments);
        }
        if self.state == ReaderState::Words {
            self.emit_text(&mut segments);
        }
        segments
    }

    /// Ends the answer. `is_whole`: whether it is complete. A call that was cut is dropped.
    pub(super) fn end(&mut self, is_whole: bool) -> Vec<Segment> {
        let mut segments = Vec::new();
        if self.has_ended {
            return segments;
        }
        match self.state {
            ReaderState::Call { fence } if is_whole => {
                let body =
                    if closes(self.last_line(), fence) { &self.held[..self.line] } else { &self.held[..] };
                let calls = parse(body);
                segments.extend(calls.into_iter().map(Segment::Call));
            }
            ReaderState::Call { .. } => {}
            // Only white space was held back behind a call.
            ReaderState::Undecided if self.held.trim().is_empty() && self.has_calls => {}
            ReaderState::Undecided | ReaderState::Words => self.emit_text(&mut segments),
        }
        self.has_ended = true;
        segments
    }

    fn last_line(&self) -> &str {
        &self.held[self.line..]
    }

    fn handle_char(&mut self, letter: char, segments: &mut Vec<Segment>) {
        match self.state {
            ReaderState::Words if letter == '\n' => {
                // The line end may be white space before a call.
                self.held.pop();
                self.emit_text(segments);
                self.held.push('\n');
                self.begin_line(ReaderState::Undecided);
            }
            ReaderState::Undecided if letter == '\n' => match opening_fence(self.last_line()) {
                Some(fence) => {
                    self.held.clear();
                    self.begin_line(ReaderState::Call { fence });
                }
                None if self.last_line().trim().is_empty() => self.begin_line(ReaderState::Undecided),
                None => {
                    self.held.pop();
                    self.emit_text(segments);
                    self.held.push('\n');
                    self.begin_line(ReaderState::Undecided);
                }
            },
            ReaderState::Undecided if may_open(self.last_line()) => {}
            ReaderState::Undecided => {
                self.state = ReaderState::Words;
                if self.has_calls {
                    self.emit_text(segments);
                }
            }
            ReaderState::Call { fence } if letter == '\n' => {
                if !closes(self.last_line(), fence) {
                    return self.begin_line(self.state);
                }
                let calls = parse(&self.held[..self.line]);
                self.has_calls = true;
                segments.extend(calls.into_iter().map(Segment::Call));
                self.held.clear();
                self.begin_line(ReaderState::Undecided);
            }
            ReaderState::Words | ReaderState::Call { .. } => {}
        }
    }

    fn begin_line(&mut self, state: ReaderState) {
        self.line = self.held.len();
        self.state = state;
    }

    fn emit_text(&mut self, segments: &mut Vec<Segment>) {
        if self.has_ended || self.held.is_empty() {
            return;
        }
        let words = std::mem::take(&mut self.held);
        self.line = 0;
        if self.has_calls {
            self.has_ended = true;
            return segments.push(Segment::End);
        }
        match segments.last_mut() {
            Some(Segment::Text(text)) => text.push_str(&words),
            _ => segments.push(Segment::Text(words)),
        }
    }
}

/// The line without the few spaces that may stand before a fence.
fn trim_indent(line: &str) -> &str {
    let rest = line.trim_start_matches(' ');
    if line.len() - rest.len() <= 3 { rest } else { line }
}

fn backticks(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// The number of backticks with which the line opens a call.
fn opening_fence(line: &str) -> Option<usize> {
    let line = trim_indent(line).trim_end();
    let fence = backticks(line);
    (3 <= fence && &line[fence..] == CALL).then_some(fence)
}

/// Whether the line may open a call once it is complete.
fn may_open(line: &str) -> bool {
    if line.trim().is_empty() {
        return true;
    }
    let line = trim_indent(line);
    let fence = backticks(line);
    let word = &line[fence..];
    match word.strip_prefix(CALL) {
        Some(rest) => 3 <= fence && rest.trim().is_empty(),
        None => 0 < fence && CALL.starts_with(word) && (word.is_empty() || 3 <= fence),
    }
}

fn closes(line: &str, fence: usize) -> bool {
    let line = trim_indent(line).trim_end();
    fence <= backticks(line) && backticks(line) == line.len()
}

/// The calls in a block: objects, one after the other or in a list. Anything else becomes a call that no tool
/// accepts, so that the model is told.
fn parse(body: &str) -> Vec<TextCall> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(body).into_iter().collect();
    let values = values.unwrap_or_default();
    let flat: Vec<Value> = values
        .into_iter()
        .flat_map(|value| match value {
            Value::Array(values) => values,
            value => vec![value],
        })
        .collect();
    let calls: Option<Vec<TextCall>> = flat.into_iter().map(parse_call).collect();
    calls.filter(|calls| !calls.is_empty()).unwrap_or_else(|| {
        let args = Map::from_iter([(
            ToolCall::MALFORMED_ARGUMENTS.to_owned(),
            Value::String(body.trim().to_owned()),
        )]);
        vec![TextCall { name: CALL.to_owned(), args }]
    })
}

fn parse_call(value: Value) -> Option<TextCall> {
    let Value::Object(mut fields) = value else { return None };
    let Some(Value::String(name)) = fields.remove("name") else { return None };
    let given = ["arguments", "args", "parameters"].into_iter().find_map(|name| fields.remove(name));
    let args = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args,
        // The arguments were encoded twice, or there are none.
        Some(Value::String(text)) => arguments::parse(&text),
        Some(other) => arguments::parse(&other.to_string()),
    };
    (!name.is_empty()).then_some(TextCall { name, args })
}
