use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};

use super::HttpModel;
use super::config_problem::ConfigProblem;
use crate::Wire;
use crate::gemini::{self, CachedPrefix};
use headstart_forked_query::{EventStream, ModelError, ModelEvent, ModelRequest, Usage};

impl HttpModel {
    /// Whether the provider can store prefixes under a name, as a [`PrefixCachingModel`](crate::PrefixCachingModel)
    /// needs.
    pub fn supports_prefix_caching(&self) -> bool {
        self.gemini_options().is_ok()
    }

    pub(super) fn gemini_options(&self) -> Result<&gemini::Options, ModelError> {
        match &self.provider.wire {
            Wire::Gemini(options) => Ok(options),
            _ => Err(ConfigProblem::from("only Gemini keeps prefixes by name; leave them out")
                .into_error(&self.provider)),
        }
    }

    /// Has Gemini store everything in this request for some time, for a price. Put the result into
    /// [`gemini::Options::cached`](crate::gemini::Options::cached) of the provider that is asked from then on. A
    /// [`PrefixCachingModel`](crate::PrefixCachingModel) does this when it is worth it.
    ///
    /// An error with any other provider, and with a prefix that is too short to be stored.
    pub async fn cache_prefix(
        &self,
        request: ModelRequest,
        lifetime: Duration,
    ) -> Result<CachedPrefix, ModelError> {
        self.gemini_options()?;
        let body = self.encoded_cache(&request, lifetime);
        let body = self.post_for_text(self.url_of("cachedContents"), body).await?;
        let made = gemini::read_cache(&body);
        let (name, tokens) = made.ok_or_else(|| self.malformed("the cache that was made has no name"))?;
        Ok(CachedPrefix { name, request: Arc::new(request), tokens })
    }

    /// Has Gemini delete what [`cache_prefix`](Self::cache_prefix) stored, before its time. It is no error if it does
    /// not exist any more.
    pub async fn delete_prefix(&self, prefix: &CachedPrefix) -> Result<(), ModelError> {
        self.gemini_options()?;
        self.delete(self.url_of(&prefix.name)).await
    }

    pub(super) fn encoded_cache(&self, request: &ModelRequest, lifetime: Duration) -> Vec<u8> {
        match &self.provider.wire {
            Wire::Gemini(options) => gemini::encode_cache(request, options, lifetime),
            _ => Vec::new(),
        }
    }

    /// The same client, for requests that begin with this prefix.
    pub(super) fn with_prefix(&self, prefix: CachedPrefix) -> Self {
        match &self.provider.wire {
            Wire::Gemini(options) => {
                self.with_wire(Wire::Gemini(gemini::Options { cached: Some(prefix), ..options.clone() }))
            }
            _ => self.clone(),
        }
    }
}

/// The answer with an additional cost in its usage.
pub(super) fn with_cost(events: EventStream, unreported: Usage) -> EventStream {
    if unreported == Usage::default() {
        return events;
    }
    let mut is_reported = false;
    let more = events.flat_map(move |event| {
        let event = match event {
            Ok(ModelEvent::Usage(mut usage)) => {
                usage += unreported;
                Ok(ModelEvent::Usage(usage))
            }
            event => event,
        };
        let is_end = matches!(event, Err(_) | Ok(ModelEvent::Finished(_)));
        let is_unreported = is_end && !is_reported;
        is_reported |= matches!(event, Ok(ModelEvent::Usage(_)));
        let cost = is_unreported.then_some(Ok(ModelEvent::Usage(unreported)));
        stream::iter(cost.into_iter().chain([event]))
    });
    more.boxed()
}
