//! What a model can see at once, and whether a conversation still fits in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::StreamExt;
use headstart_forked_query::{EventStream, HttpModel, Model, ModelError, ModelEvent, ModelRequest};

/// What whoever talks to a model should know, once each, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    /// What has not been told.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0))
    }

    fn tell(&self, text: String) {
        lock(&self.0).push(text);
    }
}

/// A model of a server that cuts a conversation at its beginning, without a word, where it is longer than its window.
///
/// How long a conversation is the server says with each answer; how long one is that is about to be sent follows from its bytes
/// and what those of the last one came to.
pub(super) struct Watched {
    model: HttpModel,
    /// As the user names it.
    name: String,
    window: u32,
    notices: Notices,
    state: Arc<Mutex<State>>,
}

struct State {
    /// Bytes and tokens of a request, as they were last.
    last: (u64, u64),
    is_told: bool,
}

impl Watched {
    pub(super) fn new(model: HttpModel, name: String, window: u32, notices: Notices) -> Self {
        // Until it is known: four bytes to a token.
        let state = State { last: (4, 1), is_told: false };
        Self { model, name, window, notices, state: Arc::new(Mutex::new(state)) }
    }
}

#[async_trait]
impl Model for Watched {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let bytes = self.model.encoded_length(request);
        let (window, name, notices) = (u64::from(self.window), self.name.clone(), self.notices.clone());
        let tell = move |state: &mut State, tokens: u64, about: &str| {
            // Four fifths: the answer has to fit in, too.
            if state.is_told || tokens < window / 5 * 4 {
                return;
            }
            state.is_told = true;
            notices.tell(format!(
                "this conversation has {about}{tokens} of the {window} tokens that {name} sees at once; what is beyond them its \
                 server cuts off at the beginning without a word. Begin a new chat, or set context_tokens below \
                 [models.\"{name}\"] in your configuration"
            ));
        };
        {
            let mut state = lock(&self.state);
            let (last_bytes, last_tokens) = state.last;
            let tokens = u128::from(bytes) * u128::from(last_tokens) / u128::from(last_bytes.max(1));
            tell(&mut state, u64::try_from(tokens).unwrap_or(u64::MAX), "about ");
        }
        let events = self.model.stream(request).await?;
        let state = Arc::clone(&self.state);
        let watched = events.inspect(move |event| {
            if let Ok(ModelEvent::Usage(usage)) = event {
                let mut state = lock(&state);
                if 0 < usage.input_tokens {
                    state.last = (bytes, usage.input_tokens);
                }
                tell(&mut state, usage.input_tokens.saturating_add(usage.output_tokens), "");
            }
        });
        Ok(watched.boxed())
    }
}

/// Every change under these locks is one step, so a panic elsewhere leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
