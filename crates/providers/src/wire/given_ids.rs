//! The ids of calls: those of the conversation, which every provider accepts, and those that a server gave.
//!
//! Some gateways put data into the ids that they give, such as a model's signature, and want them back unchanged;
//! others of the same format refuse ids that are longer than theirs, or contain other characters. So a call whose
//! given id is not plain gets an id of the conversation's own; the [`Opaque`](headstart_forked_query::Opaque) of its
//! message keeps the given one, and only the model that gave it gets it back.

use std::borrow::Cow;
use std::collections::HashMap;

use super::encoding;
use super::layout;
use headstart_forked_query::Message;

/// The ids that a model gave in a format, by the ids of the conversation.
pub(crate) struct GivenIds<'r>(HashMap<&'r str, &'r str>);

impl<'r> GivenIds<'r> {
    pub(crate) fn of(messages: &'r [Message], format: &str, model: &str) -> Self {
        Self(messages.iter().flat_map(|message| layout::given_ids(message, format, model)).collect())
    }

    /// The id that the model gave, if it is another one.
    pub(crate) fn given(&self, id: &str) -> Option<&'r str> {
        self.0.get(id).copied()
    }

    /// The id that the model gave, otherwise that of the conversation.
    pub(crate) fn given_or_same<'i>(&self, id: &'i str) -> Cow<'i, str> {
        self.given(id).map_or(Cow::Borrowed(id), |given| Cow::Owned(given.to_owned()))
    }

    /// The id that the model gave, otherwise one in characters that every provider accepts.
    pub(crate) fn given_or_plain<'i>(&self, id: &'i str) -> Cow<'i, str> {
        self.given(id).map_or_else(|| encoding::plain_id(id), |given| Cow::Owned(given.to_owned()))
    }

    /// All given ids.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'r str> {
        self.0.values().copied()
    }
}
