//! How much of what its model sees at once a conversation takes.

use super::Core;

/// How much of what its model sees at once a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowUse {
    /// The size of the next request before a prompt is added, in tokens: the provider's last count, plus an estimate
    /// for what is new.
    pub tokens: u64,
    /// How many tokens the model sees at once, if that is known.
    pub window: Option<u64>,
}

impl Core {
    pub(crate) fn window_use(&self) -> WindowUse {
        let tokens = self.compaction.tokens(&self.conversation.request());
        WindowUse { tokens, window: self.compaction.window().map(|window| window.tokens) }
    }
}
