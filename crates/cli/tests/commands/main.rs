//! The binary, driven as a user or a script drives it.

#[path = "../support/mod.rs"]
mod support;

mod configuration;
mod doctor;
mod embeddings;
mod evaluate;
mod gate;
mod gate_lines;
mod models;
mod policies;
mod records;
mod search;
mod stats;
mod streams;
mod transcript;
mod translate;
mod usage;
