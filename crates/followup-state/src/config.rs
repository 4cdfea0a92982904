use serde::{Deserialize, Serialize};

/// Milliseconds on a clock of the host's choice; only differences matter.
pub type Millis = u64;

/// How long the controller waits, and whether it starts enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Config {
    /// Whether suggestions may show at the start.
    pub enabled: bool,
    /// Milliseconds between a suggestion's arrival and its showing, so that it does not flicker.
    pub show_delay_ms: u64,
    /// Milliseconds after an accept during which another accept is ignored, so that a key that is held down accepts
    /// once.
    pub accept_lock_ms: u64,
    /// Milliseconds after a suggestion came on screen during which Tab does not accept it: the user may have pressed
    /// Tab for something else before they could see it. Other keys do not wait.
    pub tab_delay_ms: u64,
    /// Milliseconds in which a typing slip can be taken back, which brings back the suggestion and its work.
    pub slip_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { enabled: true, show_delay_ms: 300, accept_lock_ms: 100, tab_delay_ms: 400, slip_ms: 2_000 }
    }
}
