use std::fmt;
use std::sync::Arc;

use crate::gauge::length;
use crate::{CacheSafeParams, Model, ModelRequest};

/// The model that every background task uses: suggestions, speculations, and the suggestions after them.
#[derive(Clone)]
pub struct BackgroundModel {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// The provider's name of the model.
    pub name: String,
    /// Whether the conversation's own turns go to the same provider.
    pub provider: ProviderRelation,
    /// How much of a conversation it is asked with.
    pub limits: ForkLimits,
}

/// How much of a conversation a fork has.
///
/// The conversation's own model has all of it in its cache, so a fork for it is the whole conversation while that is shorter than
/// the window; a beginning that is left out would cost more than one that is read from the cache. For another model, and beyond the
/// window, it is the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkLimits {
    /// The most entries of an end; at least 4.
    pub entries: usize,
    /// How many tokens the conversation's own model can see at once, where that is known. Tokens are not counted here: a
    /// conversation is longer than the window if it has more than four bytes for each token. Without a window it is longer if it
    /// has more than 4 MiB, which is as much as the largest windows hold.
    pub window_tokens: Option<u64>,
}

impl Default for ForkLimits {
    /// Forty entries, and a window that is not known.
    fn default() -> Self {
        Self { entries: 40, window_tokens: None }
    }
}

impl ForkLimits {
    /// Whether the window holds this request.
    pub(crate) fn holds(&self, request: &ModelRequest) -> bool {
        const BYTES_PER_TOKEN: u64 = 4;
        const LONGEST: u64 = 4 * 1024 * 1024;
        let most = self.window_tokens.map_or(LONGEST, |tokens| tokens.saturating_mul(BYTES_PER_TOKEN));
        length(request) <= most
    }
}

/// Whether background work and the conversation's own turns go to the same provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderRelation {
    /// The same provider, with the same key.
    Same,
    /// Another one: it has never seen the conversation.
    Other,
}

impl BackgroundModel {
    /// The main model does the background work too, and finds the conversation in its prefix cache.
    pub fn main(model: Arc<dyn Model>, name: impl Into<String>) -> Self {
        Self::fast(model, name, ProviderRelation::Same)
    }

    /// A fast model does the background work.
    pub fn fast(model: Arc<dyn Model>, name: impl Into<String>, provider: ProviderRelation) -> Self {
        Self { model, name: name.into(), provider, limits: ForkLimits::default() }
    }

    /// Whether a fork of this conversation can hit the prefix cache that the conversation's own turns filled: only
    /// the same model of the same provider can.
    pub fn shares_cache(&self, params: &CacheSafeParams) -> bool {
        self.provider == ProviderRelation::Same && self.name == params.model()
    }
}

impl fmt::Debug for BackgroundModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundModel")
            .field("name", &self.name)
            .field("provider", &self.provider)
            .finish_non_exhaustive()
    }
}
