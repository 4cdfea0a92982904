use std::collections::HashSet;

use serde_json::{Map, Value};

use super::calls::{Arguments, Calls, Fragment};
use super::layout::Layout;
use headstart_forked_query::json::FromJson;
use headstart_forked_query::{FinishReason, ModelEvent, Opaque, ToolCall, Usage};

/// What is wrong with an event.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// It does not have the right shape.
    Shape(serde_json::Error),
    /// Its shape is right, and its content is impossible.
    Meaning(String),
    /// The provider reports an error in place of the answer.
    Error(Value),
    /// It belongs to another format, or to none.
    Foreign,
}

impl From<serde_json::Error> for Wrong {
    fn from(error: serde_json::Error) -> Self {
        Self::Shape(error)
    }
}

/// An answer while it grows.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    events: Vec<ModelEvent>,
    calls: Calls,
    layout: Layout,
    /// Whether the characters of calls are passed on as they come.
    tells_fragments: bool,
    finish: Option<FinishReason>,
    ended: bool,
    /// How often it grew.
    steps: u64,
}

impl Answer {
    /// Passes on the characters of calls as they come.
    pub(super) fn tell_fragments(&mut self) {
        self.tells_fragments = true;
    }

    pub(crate) fn text(&mut self, text: Option<String>) {
        self.layout.text(text.as_deref().unwrap_or_default());
        self.say(text);
    }

    /// Adds words, possibly none, together with something that the model wants back.
    pub(crate) fn text_with(&mut self, text: Option<String>, with: Value) {
        self.layout.text_with(text.as_deref().unwrap_or_default(), with);
        self.say(text);
    }

    /// Ends the current words as a piece, possibly with something that the model wants back with them.
    pub(crate) fn end_text(&mut self, with: Option<Value>) {
        self.layout.end_text(with);
    }

    /// Adds a piece that is neither words nor a call, and that the model wants back.
    pub(crate) fn raw(&mut self, fields: Map<String, Value>) {
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

    fn say(&mut self, text: Option<String>) {
        self.grow(text.filter(|text| !text.is_empty()).map(ModelEvent::Text));
    }

    pub(crate) fn thought(&mut self, text: Option<String>) {
        self.grow(text.filter(|text| !text.is_empty()).map(ModelEvent::Thought));
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        self.grow(Some(ModelEvent::Usage(usage)));
    }

    /// Notes that the model is at work, although there is nothing to pass on yet.
    pub(crate) fn step(&mut self) {
        self.steps += 1;
    }

    fn grow(&mut self, event: Option<ModelEvent>) {
        self.steps += u64::from(event.is_some());
        self.events.extend(event);
    }

    /// Notes the usage. One that cannot be read is ignored, because the answer is still good.
    pub(crate) fn usage_as<T: FromJson + Into<Usage>>(&mut self, usage: Option<Value>) {
        let usage: Option<T> = usage.and_then(|usage| T::from_json(usage).ok());
        self.grow(usage.map(|usage| ModelEvent::Usage(usage.into())));
    }

    pub(crate) fn call(&mut self, mut fragment: Fragment) {
        self.steps += u64::from(!fragment.is_empty());
        let with = fragment.with.take();
        let letters = match &fragment.arguments {
            Arguments::More(letters) => Some(letters.clone()),
            Arguments::None => Some(String::new()),
            Arguments::Whole(_) => None,
        };
        let letters = letters.filter(|_| self.tells_fragments && !fragment.is_whole);
        let place = self.calls.add(fragment);
        if let Some(letters) = letters {
            let name = self.calls.name(place).to_owned();
            self.events.push(ModelEvent::CallFragment { index: place, name, letters });
        }
        self.layout.call(place, with);
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
        self.layout.settle(settled);
        Ok(calls)
    }
}
