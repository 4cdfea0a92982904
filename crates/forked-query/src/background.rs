use std::fmt;
use std::sync::Arc;

use crate::{CacheSafeParams, Model};

/// The model that every background task uses: suggestions, speculations, and the suggestions after them.
#[derive(Clone)]
pub struct BackgroundModel {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// The provider's name of the model.
    pub name: String,
    /// Whether the conversation's own turns go to the same provider.
    pub provider: ProviderRelation,
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
        Self { model, name: name.into(), provider: ProviderRelation::Same }
    }

    /// A fast model does the background work.
    pub fn fast(model: Arc<dyn Model>, name: impl Into<String>, provider: ProviderRelation) -> Self {
        Self { model, name: name.into(), provider }
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
