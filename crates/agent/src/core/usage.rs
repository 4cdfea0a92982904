//! How much of what its model sees at once a conversation takes.

use super::Core;

/// How much of what its model sees at once a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowUse {
    /// What the next request has before a prompt is added, in tokens: the provider's last count, and an estimate of what is new.
    pub tokens: u64,
    /// What the model sees at once, where that is known.
    pub window: Option<u64>,
}

impl Core {
    pub(crate) fn window_use(&self) -> WindowUse {
        let tokens = self.shortening.tokens(&self.conversation.request());
        WindowUse { tokens, window: self.shortening.window().map(|window| window.tokens) }
    }
}
