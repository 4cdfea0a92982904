//! The suggestion on screen.

mod suggestion;
pub use suggestion::Suggestion;
