//! The speculation engine.
