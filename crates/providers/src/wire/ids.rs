//! The ids of calls: those of the conversation, which every provider takes, and those that a server gave.
//!
//! Some gateways carry data in the ids that they give, a model's signature for one, and want them back letter by letter; others of the
//! same format refuse what is longer than theirs, or has other letters. So a call has an id of the conversation's own where the given
//! one is not plain; the [`Opaque`](headstart_forked_query::Opaque) of its message keeps the given one, and only the model that gave it gets it back.

use std::borrow::Cow;
use std::collections::HashMap;

use super::layout;
use super::words;
use headstart_forked_query::Message;

/// The ids that a model gave in a format, by the ids of the conversation.
pub(crate) struct Ids<'r>(HashMap<&'r str, &'r str>);

impl<'r> Ids<'r> {
    pub(crate) fn of(messages: &'r [Message], format: &str, model: &str) -> Self {
        Self(messages.iter().flat_map(|message| layout::given_ids(message, format, model)).collect())
    }

    /// As the model gave it.
    pub(crate) fn given(&self, id: &str) -> Option<&'r str> {
        self.0.get(id).copied()
    }

    /// As the model gave it, else as it is in the conversation.
    pub(crate) fn any<'i>(&self, id: &'i str) -> Cow<'i, str> {
        self.given(id).map_or(Cow::Borrowed(id), |given| Cow::Owned(given.to_owned()))
    }

    /// As the model gave it, else in letters that every provider takes.
    pub(crate) fn plain<'i>(&self, id: &'i str) -> Cow<'i, str> {
        self.given(id).map_or_else(|| words::plain(id), |given| Cow::Owned(given.to_owned()))
    }

    /// All that were given.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'r str> {
        self.0.values().copied()
    }
}
