//! The engine against a scripted model, over trees in memory and on disk.

mod differential;
mod engine;
mod support;
mod together;
