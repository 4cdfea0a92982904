//! Runs the commands of the binary as a user or a script does.

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
mod usage;
