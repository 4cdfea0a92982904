use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::HttpModel;
use super::prefix::with_cost;
use crate::gemini::{self, CachedPrefix};
use headstart_forked_query::{EventStream, Model, ModelError, ModelRequest, Role, ToolSchema, Usage};

/// A Gemini model that has the beginnings of its conversations stored under a name, for some time and for a price.
///
/// A stored prefix ends where the user spoke last, so that a turn, the question about what may come next and work
/// ahead of the user all begin with it. It is made before a request whose beginning is long enough, used until its
/// time is over, made anew when the conversation has outgrown it, and deleted by [`close`](Self::close). Requests
/// that nobody waits for go through its [`reader`](Self::reader), which uses stored prefixes and makes none.
///
/// Nothing depends on it: if the provider refuses to store a prefix (it is too short, or the model does not support
/// it), or has lost it, requests are sent whole, and the provider's implicit cache does what it can. The cost of
/// storing is part of the [`Usage`] of the request for which it was done.
///
/// # Limitations
///
/// If a request is dropped while its prefix is made, or the process dies, the prefix stays with the provider until
/// its time is over.
pub struct PrefixCachingModel {
    model: HttpModel,
    lifetime: Duration,
    slots: Mutex<VecDeque<ConversationSlot>>,
}

/// The most conversations with a stored prefix at a time.
const MAX_SLOTS: usize = 4;

/// No model stores shorter prefixes; this is about a thousand tokens.
const MIN_BYTES: usize = 4 * 1024;

/// A conversation, identified by the part that never changes, and what is stored of it.
struct ConversationSlot {
    model: String,
    system: Option<String>,
    tools: Vec<ToolSchema>,
    state: SlotState,
}

enum SlotState {
    /// Nothing is stored. A prefix below this many bytes is not worth a try.
    Empty {
        min_bytes: usize,
    },
    /// A request is having it stored.
    Creating,
    Stored(StoredPrefix),
}

#[derive(Clone)]
struct StoredPrefix {
    prefix: CachedPrefix,
    bytes: usize,
    until: Instant,
    /// The cost of storing it, until a request has reported it.
    unreported_cost: Usage,
}

impl StoredPrefix {
    fn can_serve(&self, request: &ModelRequest) -> bool {
        Instant::now() < self.until && self.prefix.covers(request).is_some()
    }
}

/// What can be done for a request.
enum Lookup {
    Hit(StoredPrefix),
    /// Storing a prefix is worth a try, and the one that was stored before is of no more use.
    Create {
        bytes: usize,
        outgrown: Option<StoredPrefix>,
    },
    Skip,
}

impl PrefixCachingModel {
    /// Has prefixes stored for `lifetime`, a day at the most. The model must be one of Gemini's.
    pub fn new(model: HttpModel, lifetime: Duration) -> Result<Self, ModelError> {
        model.gemini_options()?;
        Ok(Self { model, lifetime, slots: Mutex::default() })
    }

    /// Deletes what is stored. Returns how many prefixes could not be deleted; they go when their time is over.
    pub async fn close(&self) -> usize {
        let slots: Vec<ConversationSlot> = self.lock().drain(..).collect();
        let mut left = 0;
        for slot in slots {
            if let SlotState::Stored(stored) = slot.state {
                left += usize::from(self.delete(&stored).await.is_err());
            }
        }
        left
    }

    /// The same model for requests that nobody waits for: they use what is stored for others, and nothing is made,
    /// renewed or paid for them.
    pub fn reader(self: &Arc<Self>) -> PrefixCacheReader {
        PrefixCacheReader(Arc::clone(self))
    }

    async fn delete(&self, stored: &StoredPrefix) -> Result<(), ModelError> {
        if stored.until <= Instant::now() {
            return Ok(());
        }
        self.model.delete_prefix(&stored.prefix).await
    }

    /// The stored prefix for a request, which is made first if need be.
    async fn get_or_create(&self, request: &ModelRequest) -> Option<StoredPrefix> {
        let shared_prefix = shared_prefix(request)?;
        let (bytes, outgrown) = match self.look_up(request, &shared_prefix) {
            Lookup::Hit(stored) => return Some(stored),
            Lookup::Skip => return None,
            Lookup::Create { bytes, outgrown } => (bytes, outgrown),
        };
        // However this ends, later requests may try again.
        let mut guard =
            CreationGuard { model: self, request, state: Some(SlotState::Empty { min_bytes: bytes }) };
        if let Some(outgrown) = outgrown {
            // If it cannot be deleted, it goes when its time is over.
            let _ = self.delete(&outgrown).await;
        }
        let Ok(prefix) = self.model.cache_prefix(shared_prefix, self.lifetime).await else {
            guard.state = Some(SlotState::Empty { min_bytes: bytes.saturating_mul(2) });
            return None;
        };
        let seconds = self.lifetime.min(gemini::LONGEST_CACHE).as_secs();
        let unreported_cost = Usage {
            input_tokens: prefix.tokens,
            cache_creation_tokens: prefix.tokens,
            cache_token_seconds: prefix.tokens.saturating_mul(seconds),
            ..Usage::default()
        };
        // A tenth is subtracted, because the request takes time and clocks differ.
        let until = Instant::now() + self.lifetime.min(gemini::LONGEST_CACHE).mul_f64(0.9);
        let stored = StoredPrefix { prefix, bytes, until, unreported_cost };
        guard.state = Some(SlotState::Stored(stored.clone()));
        Some(stored)
    }

    /// The stored prefix that this request can use.
    fn get(&self, request: &ModelRequest) -> Option<StoredPrefix> {
        let slots = self.lock();
        let slot = slots.iter().find(|slot| slot.matches(request))?;
        match &slot.state {
            SlotState::Stored(stored) if stored.can_serve(request) => Some(stored.clone()),
            _ => None,
        }
    }

    fn look_up(&self, request: &ModelRequest, shared_prefix: &ModelRequest) -> Lookup {
        let mut slots = self.lock();
        let Some(slot) = slots.iter_mut().find(|slot| slot.matches(request)) else {
            let bytes = self.encoded_bytes(shared_prefix);
            if bytes < MIN_BYTES {
                return Lookup::Skip;
            }
            let oldest = if MAX_SLOTS <= slots.len() { slots.pop_front() } else { None };
            slots.push_back(ConversationSlot::new(request, SlotState::Creating));
            let outgrown = match oldest.map(|slot| slot.state) {
                Some(SlotState::Stored(stored)) => Some(stored),
                _ => None,
            };
            return Lookup::Create { bytes, outgrown };
        };
        let outgrown = match &slot.state {
            // No request waits for the prefix of another one.
            SlotState::Creating => return Lookup::Skip,
            SlotState::Empty { min_bytes } if self.encoded_bytes(shared_prefix) < *min_bytes => {
                return Lookup::Skip;
            }
            SlotState::Empty { .. } => None,
            SlotState::Stored(stored) => {
                if stored.can_serve(request)
                    && self.encoded_bytes(shared_prefix) <= stored.bytes.saturating_mul(2)
                {
                    return Lookup::Hit(stored.clone());
                }
                Some(stored.clone())
            }
        };
        slot.state = SlotState::Creating;
        Lookup::Create { bytes: self.encoded_bytes(shared_prefix), outgrown }
    }

    fn encoded_bytes(&self, shared_prefix: &ModelRequest) -> usize {
        self.model.encoded_cache(shared_prefix, self.lifetime).len()
    }

    /// Forgets a prefix that does not exist any more, or that this model cannot use.
    fn evict(&self, request: &ModelRequest, name: &str) {
        let mut slots = self.lock();
        let slot = slots.iter_mut().find(|slot| slot.matches(request));
        if let Some(slot) = slot
            && let SlotState::Stored(stored) = &slot.state
            && stored.prefix.name == name
        {
            slot.state = SlotState::Empty { min_bytes: MIN_BYTES };
        }
    }

    /// The cost of storing a prefix, which is returned only once.
    fn take_unreported_cost(&self, request: &ModelRequest, name: &str) -> Usage {
        let mut slots = self.lock();
        let slot = slots.iter_mut().find(|slot| slot.matches(request));
        match slot.map(|slot| &mut slot.state) {
            Some(SlotState::Stored(stored)) if stored.prefix.name == name => {
                std::mem::take(&mut stored.unreported_cost)
            }
            _ => Usage::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ConversationSlot>> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for PrefixCachingModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let Some(stored) = self.get_or_create(request).await else { return self.model.stream(request).await };
        let name = stored.prefix.name.clone();
        let events = match self.model.with_prefix(stored.prefix).stream(request).await {
            Err(error) if may_concern_prefix(&error) => {
                let unreported_cost = self.take_unreported_cost(request, &name);
                self.evict(request, &name);
                return Ok(with_cost(self.model.stream(request).await?, unreported_cost));
            }
            answer => answer?,
        };
        Ok(with_cost(events, self.take_unreported_cost(request, &name)))
    }
}

/// A Gemini model that uses what a [`PrefixCachingModel`] has stored, and has nothing stored itself.
pub struct PrefixCacheReader(Arc<PrefixCachingModel>);

#[async_trait]
impl Model for PrefixCacheReader {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let model = &self.0.model;
        let Some(stored) = self.0.get(request) else { return model.stream(request).await };
        let name = stored.prefix.name.clone();
        match model.with_prefix(stored.prefix).stream(request).await {
            Err(error) if may_concern_prefix(&error) => {
                self.0.evict(request, &name);
                model.stream(request).await
            }
            answer => answer,
        }
    }
}

/// Whether a refusal may be caused by the prefix: it does not exist any more, or belongs to another key.
fn may_concern_prefix(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Rejected { status: 400 | 403 | 404, .. }
            | ModelError::Unauthorized { status: 403, .. }
            | ModelError::WrongServer { .. }
    )
}

/// The part of a request with which others begin too: everything before the user's last words.
fn shared_prefix(request: &ModelRequest) -> Option<ModelRequest> {
    let end = request.messages.iter().rposition(|message| message.role == Role::User)?;
    Some(ModelRequest {
        messages: request.messages[..end].to_vec(),
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
        ..request.clone()
    })
}

impl ConversationSlot {
    fn new(request: &ModelRequest, state: SlotState) -> Self {
        let ModelRequest { model, system, tools, .. } = request.clone();
        Self { model, system, tools, state }
    }

    fn matches(&self, request: &ModelRequest) -> bool {
        self.model == request.model && self.system == request.system && self.tools == request.tools
    }
}

/// Stores the outcome, even if the request is dropped meanwhile.
struct CreationGuard<'a> {
    model: &'a PrefixCachingModel,
    request: &'a ModelRequest,
    state: Option<SlotState>,
}

impl Drop for CreationGuard<'_> {
    fn drop(&mut self) {
        let mut slots = self.model.lock();
        if let (Some(slot), Some(state)) =
            (slots.iter_mut().find(|slot| slot.matches(self.request)), self.state.take())
        {
            slot.state = state;
        }
    }
}
