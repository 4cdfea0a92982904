use std::fmt;
use std::sync::Arc;

use crate::token_estimate::length;
use crate::{CacheSafeParams, Model, ModelRequest};

/// The model that every background task uses: suggestions, speculations, and the suggestions after them.
#[derive(Clone)]
pub struct BackgroundModel {
    /// The port to the model.
    pub model: Arc<dyn Model>,
    /// The provider's name of the model.
    pub name: String,
    /// Whether the conversation's own turns go to the same provider.
    pub provider: ProviderRelation,
    /// How much of a conversation its requests contain.
    pub limits: ForkLimits,
    /// Whether it runs on this machine, where it is probably small: its questions are short, so that it reads them quickly,
    /// and are given up early, so that the user's prompt does not wait behind them.
    pub is_local: bool,
}

/// How much of a conversation a fork contains.
///
/// The conversation's own model has all of it in its cache, so a fork for it contains the whole conversation if that
/// fits the window: leaving out the beginning would cost more than reading it from the cache. For another model, and
/// beyond the window, a fork contains only the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkLimits {
    /// The most messages of an end; at least 4.
    pub entries: usize,
    /// How many tokens the conversation's own model can see at once, if that is known. Tokens are not counted here: a
    /// conversation counts as longer than the window if it has more than four bytes for each token. Without a window
    /// it counts as too long beyond 4 MiB, which is as much as the largest windows hold.
    pub window_tokens: Option<u64>,
}

impl Default for ForkLimits {
    /// Forty messages, and a window that is not known.
    fn default() -> Self {
        Self { entries: 40, window_tokens: None }
    }
}

impl ForkLimits {
    /// Whether this request fits the window.
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
    /// Another provider, which has never seen the conversation.
    Other,
}

impl BackgroundModel {
    /// The main model does the background work too, with the conversation in its prefix cache.
    pub fn main(model: Arc<dyn Model>, name: impl Into<String>) -> Self {
        Self::fast(model, name, ProviderRelation::Same)
    }

    /// A fast model does the background work.
    pub fn fast(model: Arc<dyn Model>, name: impl Into<String>, provider: ProviderRelation) -> Self {
        Self { model, name: name.into(), provider, limits: ForkLimits::default(), is_local: false }
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
