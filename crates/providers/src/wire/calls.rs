use std::collections::HashSet;

use serde_json::{Map, Value};

use super::layout::CallOutcome;
use super::{arguments, encoding};
use headstart_forked_query::ToolCall;
use headstart_forked_query::free_id;

/// A piece of a call, as it comes.
#[derive(Debug, Default)]
pub(crate) struct CallFragment {
    /// The call's index, if the format has one.
    pub(crate) index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: FragmentArguments,
    /// What the model wants back with the call.
    pub(crate) with: Option<Value>,
    /// Whether it is a complete call, in a format whose calls come in one piece.
    pub(crate) is_whole: bool,
}

impl CallFragment {
    pub(super) fn is_empty(&self) -> bool {
        let says = match &self.arguments {
            FragmentArguments::None => false,
            FragmentArguments::More(letters) => !letters.is_empty(),
            FragmentArguments::Whole(_) => true,
        };
        !says && self.name.is_empty()
    }
}

/// The arguments in a piece of a call.
#[derive(Debug, Default)]
pub(crate) enum FragmentArguments {
    #[default]
    None,
    /// The next characters of their JSON.
    More(String),
    /// All arguments at once.
    Whole(Map<String, Value>),
}

impl From<Option<Value>> for FragmentArguments {
    /// The characters if it is a string; some servers send the object itself.
    fn from(arguments: Option<Value>) -> Self {
        match arguments {
            None | Some(Value::Null) => Self::None,
            Some(Value::String(more)) => Self::More(more),
            Some(Value::Object(whole)) => Self::Whole(whole),
            Some(other) => Self::More(other.to_string()),
        }
    }
}

/// The calls of an answer, joined from their fragments.
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
    /// Whether only its name distinguishes it from the call before, whose name some servers repeat.
    is_in_doubt: bool,
}

impl Calls {
    /// Adds a fragment, and returns the number of its call, from 0.
    pub(super) fn add(&mut self, fragment: CallFragment) -> usize {
        let index = self.find(&fragment);
        let call = &mut self.calls[index];
        if call.id.is_empty() {
            call.id = fragment.id;
        }
        if call.name.is_empty() {
            call.name = fragment.name;
        }
        match fragment.arguments {
            FragmentArguments::None => {}
            FragmentArguments::More(letters) => call.letters.push_str(&letters),
            FragmentArguments::Whole(arguments) => call.whole = Some(arguments),
        }
        index
    }

    /// The name of a call, as far as it is known.
    pub(super) fn name(&self, index: usize) -> &str {
        &self.calls[index].name
    }

    /// The call to which a fragment belongs: the latest with its index, or simply the latest if it has no index. A
    /// fragment with another id begins a new call nevertheless, because some servers give every call the index 0; so
    /// does a name behind complete arguments, because some gateways also leave out the ids.
    fn find(&mut self, fragment: &CallFragment) -> usize {
        let CallFragment { index, id, name, is_whole, .. } = fragment;
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

    /// The complete calls in the order in which they began, each with a unique id; and what became of each call that
    /// began. An error if one has no name.
    pub(super) fn take(
        &mut self,
        taken: &mut HashSet<String>,
    ) -> Result<(Vec<ToolCall>, Vec<CallOutcome>), &'static str> {
        let (mut calls, mut outcomes) = (Vec::new(), Vec::new());
        for call in std::mem::take(&mut self.calls) {
            if call.is_in_doubt && !call.has_arguments() {
                outcomes.push(CallOutcome::Dropped);
                continue;
            }
            let (call, given_id) = call.finished(taken)?;
            calls.push(call);
            outcomes.push(CallOutcome::Kept { given_id });
        }
        Ok((calls, outcomes))
    }
}

impl PartialCall {
    fn has_arguments(&self) -> bool {
        self.whole.is_some() || !self.letters.trim().is_empty()
    }

    /// Whether its arguments are complete.
    fn is_complete(&self) -> bool {
        let letters = self.letters.trim();
        if letters.is_empty() {
            return self.whole.is_some();
        }
        // Checks the last character first, because some servers repeat the name with every piece.
        letters.ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(letters).is_ok()
    }

    /// The complete call, and the id that the model gave if not every provider accepts that.
    fn finished(self, taken: &mut HashSet<String>) -> Result<(ToolCall, Option<String>), &'static str> {
        if self.name.is_empty() {
            return Err("a tool call has no name");
        }
        let is_plain = self.id.is_empty() || encoding::is_plain_id(&self.id);
        let id = free_id(if is_plain { &self.id } else { "" }, taken);
        taken.insert(id.clone());
        // An id that was given before would be that of two calls.
        let given_id = (!is_plain && taken.insert(self.id.clone())).then_some(self.id);
        // Characters count more, because a format may begin a call with an empty object and then spell it out.
        let args = match self.whole {
            Some(whole) if self.letters.trim().is_empty() => whole,
            _ => arguments::parse(&self.letters),
        };
        Ok((ToolCall { id, name: self.name, args }, given_id))
    }
}

#[cfg(test)]
mod tests;
