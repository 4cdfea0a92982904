use serde::{Deserialize, Serialize};

/// Milliseconds on a clock of the host's choice; only differences matter.
pub type Millis = u64;

/// How the controller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// Whether suggestions may show at the start.
    pub enabled: bool,
    /// Milliseconds between a suggestion's arrival and its showing, so that it does not flicker.
    pub show_delay_ms: u64,
    /// Milliseconds after an accept during which another accept is ignored, so that a key that repeats
    /// delivers once.
    pub accept_lock_ms: u64,
    /// Milliseconds after a suggestion came on screen during which Tab does not take it, so that a key that was meant for
    /// something else takes nothing. No other key waits.
    pub tab_delay_ms: u64,
    /// Milliseconds in which a typing slip can be taken back, and brings suggestion and work back.
    pub slip_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { enabled: true, show_delay_ms: 300, accept_lock_ms: 100, tab_delay_ms: 400, slip_ms: 2_000 }
    }
}
