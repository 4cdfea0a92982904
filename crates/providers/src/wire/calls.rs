use std::collections::HashSet;

use serde_json::{Map, Value};

use super::layout::Settled;
use super::{arguments, words};
use headstart_forked_query::ToolCall;
use headstart_forked_query::free_id;

/// A piece of a call, as it comes.
#[derive(Debug, Default)]
pub(crate) struct Fragment {
    /// Which call it belongs to, where the format counts them.
    pub(crate) index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Arguments,
    /// What the model wants back with the call.
    pub(crate) with: Option<Value>,
    /// Whether it begins a call of its own, in a format whose calls come in one piece.
    pub(crate) is_whole: bool,
}

impl Fragment {
    pub(super) fn is_empty(&self) -> bool {
        let says = match &self.arguments {
            Arguments::None => false,
            Arguments::More(letters) => !letters.is_empty(),
            Arguments::Whole(_) => true,
        };
        !says && self.name.is_empty()
    }
}

/// The arguments in a piece of a call.
#[derive(Debug, Default)]
pub(crate) enum Arguments {
    #[default]
    None,
    /// The next letters of their JSON.
    More(String),
    /// All of them at once.
    Whole(Map<String, Value>),
}

impl From<Option<Value>> for Arguments {
    /// Letters where they are a string; some servers send the object itself.
    fn from(arguments: Option<Value>) -> Self {
        match arguments {
            None | Some(Value::Null) => Self::None,
            Some(Value::String(more)) => Self::More(more),
            Some(Value::Object(whole)) => Self::Whole(whole),
            Some(other) => Self::More(other.to_string()),
        }
    }
}

/// The calls of an answer, put together from their fragments.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<PartialCall>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    letters: String,
    whole: Option<Map<String, Value>>,
    /// Nothing but its name tells it from the call before, whose name some servers repeat.
    is_in_doubt: bool,
}

impl Calls {
    /// Takes a fragment, and says which call it is of, counted from 0.
    pub(super) fn add(&mut self, fragment: Fragment) -> usize {
        let place = self.find(&fragment);
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            call.id = fragment.id;
        }
        if call.name.is_empty() {
            call.name = fragment.name;
        }
        match fragment.arguments {
            Arguments::None => {}
            Arguments::More(letters) => call.letters.push_str(&letters),
            Arguments::Whole(arguments) => call.whole = Some(arguments),
        }
        place
    }

    /// The name of a call, as far as it is known.
    pub(super) fn name(&self, place: usize) -> &str {
        &self.calls[place].name
    }

    /// The call that a fragment belongs to: the latest with its index, or the latest where it has none. A fragment
    /// with another id begins a new call all the same, for some servers number every call 0; so does a name behind
    /// arguments that are complete, for some gateways leave the ids out, too.
    fn find(&mut self, fragment: &Fragment) -> usize {
        let Fragment { index, id, name, is_whole, .. } = fragment;
        let latest = self.calls.iter().rposition(|call| index.is_none() || call.index == *index);
        let is_glued = |call: &PartialCall| {
            !name.is_empty()
                && !call.name.is_empty()
                && (id.is_empty() || id != &call.id)
                && call.is_complete()
        };
        let known = latest.filter(|position| {
            let call = &self.calls[*position];
            !is_whole && (id.is_empty() || call.id.is_empty() || call.id == *id) && !is_glued(call)
        });
        known.unwrap_or_else(|| {
            let is_in_doubt =
                !is_whole && id.is_empty() && latest.is_some_and(|latest| self.calls[latest].name == *name);
            self.calls.push(PartialCall { index: *index, is_in_doubt, ..PartialCall::default() });
            self.calls.len() - 1
        })
    }

    /// The calls, whole, in the order they began, each with an id that nobody has; and what became of each that began. An error
    /// where one has no name.
    pub(super) fn take(
        &mut self,
        taken: &mut HashSet<String>,
    ) -> Result<(Vec<ToolCall>, Vec<Settled>), &'static str> {
        let (mut calls, mut settled) = (Vec::new(), Vec::new());
        for call in std::mem::take(&mut self.calls) {
            if call.is_in_doubt && !call.has_arguments() {
                settled.push(Settled::None);
                continue;
            }
            let (call, given) = call.finished(taken)?;
            calls.push(call);
            settled.push(Settled::Call { given });
        }
        Ok((calls, settled))
    }
}

impl PartialCall {
    fn has_arguments(&self) -> bool {
        self.whole.is_some() || !self.letters.trim().is_empty()
    }

    /// Whether no letter of its arguments can follow.
    fn is_complete(&self) -> bool {
        let letters = self.letters.trim();
        if letters.is_empty() {
            return self.whole.is_some();
        }
        // The last letter first: some servers repeat the name with every letter.
        letters.ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(letters).is_ok()
    }

    /// The call, and the id that the model gave where it is not one that every provider takes.
    fn finished(self, taken: &mut HashSet<String>) -> Result<(ToolCall, Option<String>), &'static str> {
        if self.name.is_empty() {
            return Err("a tool call has no name");
        }
        let is_plain = self.id.is_empty() || words::is_plain(&self.id);
        let id = free_id(if is_plain { &self.id } else { "" }, taken);
        taken.insert(id.clone());
        // One that was given before would pair with two calls.
        let given = (!is_plain && taken.insert(self.id.clone())).then_some(self.id);
        // Letters count for more: a format may begin a call with an empty object and then spell it out.
        let args = match self.whole {
            Some(whole) if self.letters.trim().is_empty() => whole,
            _ => arguments::parse(&self.letters),
        };
        Ok((ToolCall { id, name: self.name, args }, given))
    }
}

#[cfg(test)]
mod tests;
