use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};

use super::HttpModel;
use super::problem::Problem;
use crate::Wire;
use crate::gemini::{self, CachedPrefix};
use headstart_forked_query::{EventStream, ModelError, ModelEvent, ModelRequest, Usage};

impl HttpModel {
    /// Whether the provider can store prefixes under a name, as a [`PrefixKeeper`](crate::PrefixKeeper) needs.
    pub fn can_keep_prefixes(&self) -> bool {
        self.keeps_prefixes().is_ok()
    }

    pub(super) fn keeps_prefixes(&self) -> Result<&gemini::Options, ModelError> {
        match &self.provider.wire {
            Wire::Gemini(options) => Ok(options),
            _ => {
                Err(Problem::from("only Gemini keeps prefixes by name; leave them out").with(&self.provider))
            }
        }
    }

    /// Has Gemini store everything in this request for some time, for a price. Put the result into
    /// [`gemini::Options::cached`](crate::gemini::Options::cached) of the provider that is asked from then on. A
    /// [`PrefixKeeper`](crate::PrefixKeeper) does this when it is worth it.
    ///
    /// An error with any other provider, and with a prefix that is too short to be stored.
    pub async fn cache_prefix(
        &self,
        request: ModelRequest,
        lifetime: Duration,
    ) -> Result<CachedPrefix, ModelError> {
        self.keeps_prefixes()?;
        let body = self.encoded_cache(&request, lifetime);
        let body = self.ask_for(self.url_of("cachedContents"), body).await?;
        let made = gemini::read_cache(&body);
        let (name, tokens) = made.ok_or_else(|| self.malformed("the cache that was made has no name"))?;
        Ok(CachedPrefix { name, request: Arc::new(request), tokens })
    }

    /// Has Gemini delete what [`cache_prefix`](Self::cache_prefix) stored, before its time. It is no error if it does
    /// not exist any more.
    pub async fn forget_prefix(&self, prefix: &CachedPrefix) -> Result<(), ModelError> {
        self.keeps_prefixes()?;
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
                self.speaking(Wire::Gemini(gemini::Options { cached: Some(prefix), ..options.clone() }))
            }
            _ => self.clone(),
        }
    }
}

/// The answer with an additional cost in its usage.
pub(super) fn with_cost(events: EventStream, owed: Usage) -> EventStream {
    if owed == Usage::default() {
        return events;
    }
    let mut told = false;
    let more = events.flat_map(move |event| {
        let event = match event {
            Ok(ModelEvent::Usage(mut usage)) => {
                usage += owed;
                Ok(ModelEvent::Usage(usage))
            }
            event => event,
        };
        let is_end = matches!(event, Err(_) | Ok(ModelEvent::Finished(_)));
        let is_untold = is_end && !told;
        told |= matches!(event, Ok(ModelEvent::Usage(_)));
        let cost = is_untold.then_some(Ok(ModelEvent::Usage(owed)));
        stream::iter(cost.into_iter().chain([event]))
    });
    more.boxed()
}
