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
pub struct PrefixKeeper {
    model: HttpModel,
    lifetime: Duration,
    places: Mutex<VecDeque<Place>>,
}

/// The most conversations with a stored prefix at a time.
const PLACES: usize = 4;

/// No model stores shorter prefixes; this is about a thousand tokens.
const LEAST_BYTES: usize = 4 * 1024;

/// A conversation, identified by the part that never changes, and what is stored of it.
struct Place {
    model: String,
    system: Option<String>,
    tools: Vec<ToolSchema>,
    state: State,
}

enum State {
    /// Nothing is stored. A prefix below this many bytes is not worth a try.
    Empty {
        least: usize,
    },
    /// A request is having it stored.
    Making,
    Kept(Kept),
}

#[derive(Clone)]
struct Kept {
    prefix: CachedPrefix,
    bytes: usize,
    until: Instant,
    /// The cost of storing it, until a request has reported it.
    owed: Usage,
}

impl Kept {
    fn is_of_use_to(&self, request: &ModelRequest) -> bool {
        Instant::now() < self.until && self.prefix.covers(request).is_some()
    }
}

/// What can be done for a request.
enum Found {
    Kept(Kept),
    /// Storing a prefix is worth a try, and the one that was stored before is of no more use.
    Worth {
        bytes: usize,
        outgrown: Option<Kept>,
    },
    Nothing,
}

impl PrefixKeeper {
    /// Has prefixes stored for `lifetime`, a day at the most. The model must be one of Gemini's.
    pub fn new(model: HttpModel, lifetime: Duration) -> Result<Self, ModelError> {
        model.keeps_prefixes()?;
        Ok(Self { model, lifetime, places: Mutex::default() })
    }

    /// Deletes what is stored. Returns how many prefixes could not be deleted; they go when their time is over.
    pub async fn close(&self) -> usize {
        let places: Vec<Place> = self.lock().drain(..).collect();
        let mut left = 0;
        for place in places {
            if let State::Kept(kept) = place.state {
                left += usize::from(self.forget(&kept).await.is_err());
            }
        }
        left
    }

    /// The same model for requests that nobody waits for: they use what is stored for others, and nothing is made,
    /// renewed or paid for them.
    pub fn reader(self: &Arc<Self>) -> KeptPrefixes {
        KeptPrefixes(Arc::clone(self))
    }

    async fn forget(&self, kept: &Kept) -> Result<(), ModelError> {
        if kept.until <= Instant::now() {
            return Ok(());
        }
        self.model.forget_prefix(&kept.prefix).await
    }

    /// The stored prefix for a request, which is made first if need be.
    async fn prefix_of(&self, request: &ModelRequest) -> Option<Kept> {
        let shared = shared(request)?;
        let (bytes, outgrown) = match self.find(request, &shared) {
            Found::Kept(kept) => return Some(kept),
            Found::Nothing => return None,
            Found::Worth { bytes, outgrown } => (bytes, outgrown),
        };
        // However this ends, later requests may try again.
        let mut making = Making { keeper: self, of: request, state: Some(State::Empty { least: bytes }) };
        if let Some(outgrown) = outgrown {
            // If it cannot be deleted, it goes when its time is over.
            let _ = self.forget(&outgrown).await;
        }
        let Ok(prefix) = self.model.cache_prefix(shared, self.lifetime).await else {
            making.state = Some(State::Empty { least: bytes.saturating_mul(2) });
            return None;
        };
        let seconds = self.lifetime.min(gemini::LONGEST_CACHE).as_secs();
        let owed = Usage {
            input_tokens: prefix.tokens,
            cache_creation_tokens: prefix.tokens,
            cache_token_seconds: prefix.tokens.saturating_mul(seconds),
            ..Usage::default()
        };
        // A tenth is subtracted, because the request takes time and clocks differ.
        let until = Instant::now() + self.lifetime.min(gemini::LONGEST_CACHE).mul_f64(0.9);
        let kept = Kept { prefix, bytes, until, owed };
        making.state = Some(State::Kept(kept.clone()));
        Some(kept)
    }

    /// The stored prefix that this request can use.
    fn there_for(&self, request: &ModelRequest) -> Option<Kept> {
        let places = self.lock();
        let place = places.iter().find(|place| place.is_of(request))?;
        match &place.state {
            State::Kept(kept) if kept.is_of_use_to(request) => Some(kept.clone()),
            _ => None,
        }
    }

    fn find(&self, request: &ModelRequest, shared: &ModelRequest) -> Found {
        let mut places = self.lock();
        let Some(place) = places.iter_mut().find(|place| place.is_of(request)) else {
            let bytes = self.bytes(shared);
            if bytes < LEAST_BYTES {
                return Found::Nothing;
            }
            let oldest = if PLACES <= places.len() { places.pop_front() } else { None };
            places.push_back(Place::of(request, State::Making));
            let outgrown = match oldest.map(|place| place.state) {
                Some(State::Kept(kept)) => Some(kept),
                _ => None,
            };
            return Found::Worth { bytes, outgrown };
        };
        let outgrown = match &place.state {
            // No request waits for the prefix of another one.
            State::Making => return Found::Nothing,
            State::Empty { least } if self.bytes(shared) < *least => return Found::Nothing,
            State::Empty { .. } => None,
            State::Kept(kept) => {
                if kept.is_of_use_to(request) && self.bytes(shared) <= kept.bytes.saturating_mul(2) {
                    return Found::Kept(kept.clone());
                }
                Some(kept.clone())
            }
        };
        place.state = State::Making;
        Found::Worth { bytes: self.bytes(shared), outgrown }
    }

    fn bytes(&self, shared: &ModelRequest) -> usize {
        self.model.encoded_cache(shared, self.lifetime).len()
    }

    /// Forgets a prefix that does not exist any more, or that this model cannot use.
    fn lose(&self, request: &ModelRequest, name: &str) {
        let mut places = self.lock();
        let place = places.iter_mut().find(|place| place.is_of(request));
        if let Some(place) = place
            && let State::Kept(kept) = &place.state
            && kept.prefix.name == name
        {
            place.state = State::Empty { least: LEAST_BYTES };
        }
    }

    /// The cost of storing a prefix, which is returned only once.
    fn settle(&self, request: &ModelRequest, name: &str) -> Usage {
        let mut places = self.lock();
        let place = places.iter_mut().find(|place| place.is_of(request));
        match place.map(|place| &mut place.state) {
            Some(State::Kept(kept)) if kept.prefix.name == name => std::mem::take(&mut kept.owed),
            _ => Usage::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Place>> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Model for PrefixKeeper {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let Some(kept) = self.prefix_of(request).await else { return self.model.stream(request).await };
        let name = kept.prefix.name.clone();
        let events = match self.model.with_prefix(kept.prefix).stream(request).await {
            Err(error) if may_be_about_it(&error) => {
                let owed = self.settle(request, &name);
                self.lose(request, &name);
                return Ok(with_cost(self.model.stream(request).await?, owed));
            }
            answer => answer?,
        };
        Ok(with_cost(events, self.settle(request, &name)))
    }
}

/// A Gemini model that uses what a [`PrefixKeeper`] has stored, and has nothing stored itself.
pub struct KeptPrefixes(Arc<PrefixKeeper>);

#[async_trait]
impl Model for KeptPrefixes {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let model = &self.0.model;
        let Some(kept) = self.0.there_for(request) else { return model.stream(request).await };
        let name = kept.prefix.name.clone();
        match model.with_prefix(kept.prefix).stream(request).await {
            Err(error) if may_be_about_it(&error) => {
                self.0.lose(request, &name);
                model.stream(request).await
            }
            answer => answer,
        }
    }
}

/// Whether a refusal may be caused by the prefix: it does not exist any more, or belongs to another key.
fn may_be_about_it(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Rejected { status: 400 | 403 | 404, .. }
            | ModelError::Unauthorized { status: 403, .. }
            | ModelError::WrongServer { .. }
    )
}

/// The part of a request with which others begin too: everything before the user's last words.
fn shared(request: &ModelRequest) -> Option<ModelRequest> {
    let end = request.messages.iter().rposition(|message| message.role == Role::User)?;
    Some(ModelRequest {
        messages: request.messages[..end].to_vec(),
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
        ..request.clone()
    })
}

impl Place {
    fn of(request: &ModelRequest, state: State) -> Self {
        let ModelRequest { model, system, tools, .. } = request.clone();
        Self { model, system, tools, state }
    }

    fn is_of(&self, request: &ModelRequest) -> bool {
        self.model == request.model && self.system == request.system && self.tools == request.tools
    }
}

/// Stores the outcome, even if the request is dropped meanwhile.
struct Making<'a> {
    keeper: &'a PrefixKeeper,
    of: &'a ModelRequest,
    state: Option<State>,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let mut places = self.keeper.lock();
        if let (Some(place), Some(state)) =
            (places.iter_mut().find(|place| place.is_of(self.of)), self.state.take())
        {
            place.state = state;
        }
    }
}
