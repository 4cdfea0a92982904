//! What a model wants back with an answer, and where in the answer it stood.
//!
//! The conversation keeps the words and calls of an answer. An [`Opaque`] beside them keeps the rest, as a list of
//! the answer's pieces in order: something raw, a number of bytes of the words, the next call. Words and calls may
//! have something attached too.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use headstart_forked_query::{Message, Opaque, Part, ToolCall};

/// The most bytes that are kept, as JSON: more than the thoughts of any model need, and few enough for a record on
/// the disk. If it is longer, all of it is left out, as if the model had given nothing.
pub const MAX_OPAQUE_BYTES: usize = 2 * 1024 * 1024;

const RAW: &str = "raw";
const TEXT: &str = "text";
const CALL: &str = "call";
const WITH: &str = "with";

/// The pieces of an answer while it grows.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pieces: Vec<LayoutPiece>,
    /// The number of calls.
    calls: usize,
}

#[derive(Debug)]
enum LayoutPiece {
    Raw(Map<String, Value>),
    Text { bytes: usize, with: Option<Value>, is_closed: bool },
    Call { with: Option<Value>, given_id: Option<String> },
}

impl Layout {
    /// Adds words with nothing attached.
    pub(super) fn text(&mut self, more: &str) {
        match self.pieces.last_mut() {
            _ if more.is_empty() => {}
            Some(LayoutPiece::Text { bytes, is_closed: false, .. }) => *bytes += more.len(),
            _ => self.pieces.push(LayoutPiece::Text { bytes: more.len(), with: None, is_closed: false }),
        }
    }

    /// Adds words, possibly none, as a piece of their own with something attached.
    pub(super) fn text_with(&mut self, text: &str, with: Value) {
        self.pieces.push(LayoutPiece::Text { bytes: text.len(), with: Some(with), is_closed: true });
    }

    /// Ends the current words as a piece, possibly with something attached.
    pub(super) fn end_text(&mut self, attached: Option<Value>) {
        if let Some(LayoutPiece::Text { with, is_closed: is_closed @ false, .. }) = self.pieces.last_mut() {
            *with = attached;
            *is_closed = true;
        }
    }

    /// Adds a piece of a call; `index` is the number of the call, from 0.
    pub(super) fn call(&mut self, index: usize, attached: Option<Value>) {
        if index == self.calls {
            self.calls += 1;
            self.pieces.push(LayoutPiece::Call { with: attached, given_id: None });
        } else if attached.is_some() {
            let mut calls = self.pieces.iter_mut().filter_map(|piece| match piece {
                LayoutPiece::Call { with, .. } => Some(with),
                _ => None,
            });
            if let Some(with) = calls.nth(index) {
                *with = attached;
            }
        }
    }

    /// Notes what became of the calls, in order: the id that the model gave if the call has another one, or that it
    /// was dropped.
    pub(super) fn set_call_outcomes(&mut self, calls: Vec<CallOutcome>) {
        let mut calls = calls.into_iter();
        self.pieces.retain_mut(|piece| match piece {
            LayoutPiece::Call { given_id, .. } => match calls.next() {
                Some(CallOutcome::Kept { given_id: id }) => {
                    *given_id = id;
                    true
                }
                Some(CallOutcome::Dropped) => false,
                None => true,
            },
            _ => true,
        });
    }

    /// Adds a piece that is neither words nor a call.
    pub(super) fn raw(&mut self, fields: Map<String, Value>) {
        self.pieces.push(LayoutPiece::Raw(fields));
    }

    /// The last raw piece.
    pub(super) fn last_raw(&mut self) -> Option<&mut Map<String, Value>> {
        self.pieces.iter_mut().rev().find_map(|piece| match piece {
            LayoutPiece::Raw(fields) => Some(fields),
            _ => None,
        })
    }

    /// The raw piece before all others, for a format that sends fields of the message back.
    pub(super) fn fields(&mut self) -> &mut Map<String, Value> {
        if !matches!(self.pieces.first(), Some(LayoutPiece::Raw(_))) {
            self.pieces.insert(0, LayoutPiece::Raw(Map::new()));
        }
        match &mut self.pieces[0] {
            LayoutPiece::Raw(fields) => fields,
            _ => unreachable!("it was put there"),
        }
    }

    /// What has to be kept, if the model wants anything back.
    pub(super) fn finish(&mut self, format: &str, model: &str) -> Option<Opaque> {
        let pieces = std::mem::take(self).pieces;
        let is_wanted = |piece: &LayoutPiece| match piece {
            LayoutPiece::Raw(fields) => !fields.is_empty(),
            LayoutPiece::Text { with, .. } => with.is_some(),
            LayoutPiece::Call { with, given_id } => with.is_some() || given_id.is_some(),
        };
        if !pieces.iter().any(is_wanted) {
            return None;
        }
        let data: Value = pieces.into_iter().map(Value::from).collect();
        let is_short = data.to_string().len() <= MAX_OPAQUE_BYTES;
        is_short.then(|| Opaque { format: format.to_owned(), model: model.to_owned(), data })
    }
}

impl From<LayoutPiece> for Value {
    fn from(piece: LayoutPiece) -> Self {
        let (mut json, with) = match piece {
            LayoutPiece::Raw(fields) => return json!({ RAW: fields }),
            LayoutPiece::Text { bytes, with, .. } => (json!({ TEXT: bytes }), with),
            LayoutPiece::Call { with, given_id: None } => (json!({ CALL: true }), with),
            LayoutPiece::Call { with, given_id: Some(id) } => (json!({ CALL: id }), with),
        };
        if let Some(with) = with {
            json[WITH] = with;
        }
        json
    }
}

/// What became of a call that began.
#[derive(Debug, PartialEq)]
pub(super) enum CallOutcome {
    Kept { given_id: Option<String> },
    Dropped,
}

/// The ids that this model gave in this format to calls of the message which have other ids there: the call's id, and
/// the given one.
pub(crate) fn given_ids<'a>(
    message: &'a Message,
    format: &str,
    model: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let own = message.opaque().filter(|opaque| is_written_by(opaque, format, model));
    let entries = own.and_then(|opaque| opaque.data.as_array()).into_iter().flatten();
    let given = entries.filter_map(|entry| entry.get(CALL));
    message.tool_calls().zip(given).filter_map(|(call, given)| Some((call.id.as_str(), given.as_str()?)))
}

/// A piece of a message, as a format sends it.
#[derive(Debug, PartialEq)]
pub(crate) enum AnswerPiece<'a> {
    Raw(&'a Map<String, Value>),
    Text(Cow<'a, str>, Option<&'a Value>),
    Call(&'a ToolCall, Option<&'a Value>),
}

/// The pieces of a model's message in the order in which they came, if this model gave it in this format; otherwise
/// its parts in order.
///
/// It never fails: of a message that was shortened later (a call that never ran is left out) the remaining pieces are
/// returned. A raw piece with nothing behind it is left out, because providers refuse thoughts that lead nowhere.
pub(crate) fn pieces<'a>(message: &'a Message, format: &str, model: &str) -> Vec<AnswerPiece<'a>> {
    let own = message.opaque().filter(|opaque| is_written_by(opaque, format, model));
    let Some(entries) = own.and_then(|opaque| opaque.data.as_array()) else {
        return message.parts.iter().filter_map(part_as_piece).collect();
    };
    let mut text = TextCursor::of(message);
    let mut calls = message.tool_calls();
    let mut pieces = Vec::with_capacity(entries.len() + 1);
    for entry in entries {
        let with = entry.get(WITH);
        if let Some(fields) = entry.get(RAW).and_then(Value::as_object) {
            pieces.push(AnswerPiece::Raw(fields));
        } else if let Some(bytes) = entry.get(TEXT).and_then(Value::as_u64) {
            pieces.push(AnswerPiece::Text(text.take(usize::try_from(bytes).unwrap_or(usize::MAX)), with));
        } else if let Some(call) = calls.next() {
            pieces.push(AnswerPiece::Call(call, with));
        }
    }
    let rest = text.take(usize::MAX);
    if !rest.is_empty() {
        pieces.push(AnswerPiece::Text(rest, None));
    }
    pieces.extend(calls.map(|call| AnswerPiece::Call(call, None)));
    while matches!(pieces.last(), Some(AnswerPiece::Raw(_))) {
        pieces.pop();
    }
    pieces
}

/// The fields that are sent back with the message, for a format that has them.
pub(crate) fn fields<'a>(message: &'a Message, format: &str, model: &str) -> Option<&'a Map<String, Value>> {
    let own = message.opaque().filter(|opaque| is_written_by(opaque, format, model))?;
    own.data.get(0)?.get(RAW)?.as_object()
}

/// Appends to a text among the fields.
pub(crate) fn append_text(fields: &mut Map<String, Value>, name: &str, more: &str) {
    match fields.get_mut(name) {
        _ if more.is_empty() => {}
        Some(Value::String(text)) => text.push_str(more),
        _ => _ = fields.insert(name.to_owned(), more.into()),
    }
}

/// What is sent back with each call, in order.
pub(crate) fn with_calls<'a>(
    message: &'a Message,
    format: &str,
    model: &str,
) -> impl Iterator<Item = (&'a ToolCall, Option<&'a Value>)> {
    pieces(message, format, model).into_iter().filter_map(|piece| match piece {
        AnswerPiece::Call(call, with) => Some((call, with)),
        _ => None,
    })
}

fn is_written_by(opaque: &Opaque, format: &str, model: &str) -> bool {
    opaque.format == format && opaque.model == model
}

fn part_as_piece(part: &Part) -> Option<AnswerPiece<'_>> {
    match part {
        Part::Text { text } => Some(AnswerPiece::Text(text.into(), None)),
        Part::ToolCall(call) => Some(AnswerPiece::Call(call, None)),
        Part::Image(_) | Part::ToolResult(_) | Part::Opaque(_) => None,
    }
}

/// The words of a message, taken piece by piece.
struct TextCursor<'a> {
    texts: Vec<&'a str>,
}

impl<'a> TextCursor<'a> {
    fn of(message: &'a Message) -> Self {
        let texts = message.parts.iter().rev().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        Self { texts: texts.collect() }
    }

    /// The next `bytes` bytes, or as many as there are, up to the end of a character.
    fn take(&mut self, mut bytes: usize) -> Cow<'a, str> {
        let mut taken = Cow::Borrowed("");
        while 0 < bytes
            && let Some(text) = self.texts.pop()
        {
            let end = (bytes.min(text.len())..=text.len()).find(|end| text.is_char_boundary(*end));
            let (now, later) = text.split_at(end.unwrap_or(text.len()));
            bytes = bytes.saturating_sub(now.len());
            if !later.is_empty() {
                self.texts.push(later);
            }
            if taken.is_empty() { taken = Cow::Borrowed(now) } else { taken.to_mut().push_str(now) }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, message, text};
    use headstart_forked_query::{Part, Role};

    fn opaque(data: Value) -> Part {
        Part::Opaque(Opaque { format: "f".into(), model: "m".into(), data })
    }

    fn rendered(message: &Message, model: &str) -> Vec<String> {
        let rendered = pieces(message, "f", model).into_iter().map(|piece| match piece {
            AnswerPiece::Raw(fields) => format!("raw {}", Value::Object(fields.clone())),
            AnswerPiece::Text(text, with) => format!("{text:?} {with:?}"),
            AnswerPiece::Call(call, with) => format!("{} {with:?}", call.id),
        });
        rendered.collect()
    }

    /// An answer is sent back to its model with the same parts in the same order.
    #[test]
    fn what_was_laid_out_comes_back_in_its_order() {
        let mut layout = Layout::default();
        layout.raw(json!({"a": 1}).as_object().unwrap().clone());
        layout.text("grö");
        layout.text("ßer");
        layout.raw(json!({"b": 2}).as_object().unwrap().clone());
        layout.text("now");
        layout.end_text(Some(json!("of now")));
        layout.text("then");
        layout.call(0, None);
        layout.call(1, Some(json!("early")));
        layout.call(0, Some(json!("late")));
        layout.text_with("", json!("at the end"));
        let opaque = layout.finish("f", "m").unwrap();
        let words = ["größernowthen", "größ", "", "größernowthen and more"];
        let message = |words: &str, calls: &[&str]| {
            let calls = calls.iter().map(|id| call(id));
            let parts = [Part::Opaque(opaque.clone()), text(words)];
            message(Role::Model, parts.into_iter().chain(calls))
        };
        let whole = message(words[0], &["1", "2"]);
        let some = |text: &str| format!("Some(String({text:?}))");
        let expected = [
            "raw {\"a\":1}".to_owned(),
            "\"größer\" None".to_owned(),
            "raw {\"b\":2}".to_owned(),
            format!("\"now\" {}", some("of now")),
            "\"then\" None".to_owned(),
            format!("1 {}", some("late")),
            format!("2 {}", some("early")),
            format!("\"\" {}", some("at the end")),
        ];
        assert_eq!(rendered(&whole, "m"), expected);
        // The answer of another model is sent as its parts.
        assert_eq!(rendered(&whole, "other"), ["\"größernowthen\" None", "1 None", "2 None"]);
        // Whatever became of the message, nothing of it is lost and nothing is repeated.
        for words in words {
            for calls in [&["1", "2"][..], &["1"], &[], &["1", "2", "3"]] {
                let message = message(words, calls);
                let pieces = pieces(&message, "f", "m");
                let mut said = String::new();
                let mut called = Vec::new();
                for piece in &pieces {
                    match piece {
                        AnswerPiece::Raw(_) => {}
                        AnswerPiece::Text(text, _) => said.push_str(text),
                        AnswerPiece::Call(call, _) => called.push(call.id.as_str()),
                    }
                }
                assert_eq!((said.as_str(), &called[..]), (words, calls));
            }
        }
    }

    /// A thought is only sent back with what follows it, and an answer without anything special is not kept.
    #[test]
    fn thoughts_that_lead_nowhere_are_left_out_and_so_is_what_nobody_wants() {
        let thought = || opaque(json!([{"raw": {"a": 1}}, {"call": true}]));
        assert_eq!(rendered(&message(Role::Model, [thought(), call("1")]), "m"), ["raw {\"a\":1}", "1 None"]);
        assert_eq!(rendered(&message(Role::Model, [thought()]), "m"), [""; 0]);
        let mut layout = Layout::default();
        layout.text("words");
        layout.call(0, None);
        layout.fields();
        assert_eq!(layout.finish("f", "m"), None);
    }

    /// A session is a file that users can edit, so wrong data must neither panic nor lose words and calls.
    #[test]
    fn what_a_hand_wrote_into_it_is_survived() {
        for data in [
            json!(null),
            json!("x"),
            json!([1, null, {"text": -1}, {"text": 1}, {"text": 1e300}, {"raw": 5}, {}]),
            json!([{"text": u64::MAX}, {"call": 7}, {"call": true}]),
        ] {
            let message = message(Role::Model, [opaque(data), text("ß"), call("1")]);
            let rendered = rendered(&message, "m");
            assert!(rendered.iter().any(|piece| piece.starts_with("\"ß\"")), "{rendered:?}");
            assert!(rendered.iter().any(|piece| piece.starts_with("1 ")), "{rendered:?}");
        }
    }

    /// Thoughts that are too long are not kept, so that a session does not grow without limit.
    #[test]
    fn what_is_too_long_is_left_out() {
        let wants = |bytes: usize| {
            let mut layout = Layout::default();
            layout.fields().insert("thoughts".into(), "x".repeat(bytes).into());
            layout.finish("f", "m")
        };
        assert!(wants(MAX_OPAQUE_BYTES / 2).is_some());
        assert_eq!(wants(MAX_OPAQUE_BYTES), None);
    }
}
