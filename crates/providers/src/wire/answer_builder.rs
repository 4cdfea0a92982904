use std::collections::HashSet;

use serde_json::{Map, Value};

use super::calls::{CallFragment, Calls, FragmentArguments};
use super::layout::Layout;
use headstart_forked_query::json::FromJson;
use headstart_forked_query::{FinishReason, ModelEvent, Opaque, ToolCall, Usage};

/// What is wrong with an event.
#[derive(Debug)]
pub(crate) enum EventError {
    /// It does not have the right shape.
    Shape(serde_json::Error),
    /// Its shape is right, and its content is impossible.
    Content(String),
    /// The provider reports an error in place of the answer.
    Reported(Value),
    /// It belongs to another format, or to none.
    Foreign,
}

impl From<serde_json::Error> for EventError {
    fn from(error: serde_json::Error) -> Self {
        Self::Shape(error)
    }
}

/// An answer while it grows.
#[derive(Debug, Default)]
pub(crate) struct AnswerBuilder {
    events: Vec<ModelEvent>,
    calls: Calls,
    layout: Layout,
    /// Whether the characters of calls are passed on as they come.
    passes_on_fragments: bool,
    finish: Option<FinishReason>,
    ended: bool,
    /// How often it grew.
    steps: u64,
}

impl AnswerBuilder {
    /// Passes on the characters of calls as they come.
    pub(super) fn pass_on_fragments(&mut self) {
        self.passes_on_fragments = true;
    }

    pub(crate) fn push_text(&mut self, text: Option<String>) {
        self.layout.text(text.as_deref().unwrap_or_default());
        self.push_text_event(text);
    }

    /// Adds words, possibly none, together with something that the model wants back.
    pub(crate) fn push_text_with(&mut self, text: Option<String>, with: Value) {
        self.layout.text_with(text.as_deref().unwrap_or_default(), with);
        self.push_text_event(text);
    }

    /// Ends the current words as a piece, possibly with something that the model wants back with them.
    pub(crate) fn end_text(&mut self, with: Option<Value>) {
        self.layout.end_text(with);
    }

    /// Adds a piece that is neither words nor a call, and that the model wants back.
    pub(crate) fn push_raw(&mut self, fields: Map<String, Value>) {
        self.layout.raw(fields);
    }

    /// The last such piece, to add to it.
    pub(crate) fn last_raw(&mut self) -> Option<&mut Map<String, Value>> {
        self.layout.last_raw()
    }

    /// What the model wants back as fields of its message.
    pub(crate) fn fields(&mut self) -> &mut Map<String, Value> {
        self.layout.fields()
    }

    fn push_text_event(&mut self, text: Option<String>) {
        self.push_event(text.filter(|text| !text.is_empty()).map(ModelEvent::Text));
    }

    pub(crate) fn push_thought(&mut self, text: Option<String>) {
        self.push_event(text.filter(|text| !text.is_empty()).map(ModelEvent::Thought));
    }

    pub(crate) fn push_usage(&mut self, usage: Usage) {
        self.push_event(Some(ModelEvent::Usage(usage)));
    }

    /// Notes that the model is at work, although there is nothing to pass on yet.
    pub(crate) fn note_progress(&mut self) {
        self.steps += 1;
    }

    fn push_event(&mut self, event: Option<ModelEvent>) {
        self.steps += u64::from(event.is_some());
        self.events.extend(event);
    }

    /// Notes the usage. One that cannot be read is ignored, because the answer is still good.
    pub(crate) fn push_usage_as<T: FromJson + Into<Usage>>(&mut self, usage: Option<Value>) {
        let usage: Option<T> = usage.and_then(|usage| T::from_json(usage).ok());
        self.push_event(usage.map(|usage| ModelEvent::Usage(usage.into())));
    }

    pub(crate) fn push_call(&mut self, mut fragment: CallFragment) {
        self.steps += u64::from(!fragment.is_empty());
        let with = fragment.with.take();
        let letters = match &fragment.arguments {
            FragmentArguments::More(letters) => Some(letters.clone()),
            FragmentArguments::None => Some(String::new()),
            FragmentArguments::Whole(_) => None,
        };
        let letters = letters.filter(|_| !fragment.is_whole);
        let index = self.calls.add(fragment);
        if let Some(letters) = letters {
            let name = self.calls.name(index).to_owned();
            self.show_fragment(index, &name, letters);
        }
        self.layout.call(index, with);
    }

    /// Passes on characters of a call as they come, where that is wanted. They add nothing to the answer.
    pub(crate) fn show_fragment(&mut self, index: usize, name: &str, letters: String) {
        if self.passes_on_fragments {
            self.events.push(ModelEvent::CallFragment { index, name: name.to_owned(), letters });
        }
    }

    /// Notes why the answer is complete. The stream may go on, for example with the usage.
    pub(crate) fn finish(&mut self, reason: FinishReason) {
        self.finish = Some(reason);
    }

    /// Notes that nothing important follows this event.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn finish_reason(&self) -> Option<FinishReason> {
        self.finish
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn take_events(&mut self) -> Vec<ModelEvent> {
        std::mem::take(&mut self.events)
    }

    /// What the model wants back with the answer.
    pub(super) fn take_opaque(&mut self, format: &str, model: &str) -> Option<Opaque> {
        self.layout.finish(format, model)
    }

    pub(super) fn take_calls(&mut self, taken: &mut HashSet<String>) -> Result<Vec<ToolCall>, &'static str> {
        let (calls, settled) = self.calls.take(taken)?;
        self.layout.set_call_outcomes(settled);
        Ok(calls)
    }
}
