//! The binary, driven as a user or a script drives it.

#[path = "../support/mod.rs"]
mod support;

mod configuration;
mod gate;
mod models;
mod records;
mod stats;
mod streams;
mod usage;
