//! Tests with real language servers over copies of small projects. `--nocapture` prints how long each step takes.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the tests are the host: they start processes, keep files in temporary folders, and tell how long it took"
)]

mod bare;
mod checks;
mod languages;
mod story;
#[path = "../support/mod.rs"]
mod support;
