//! The engine against a scripted model, over trees in memory and on disk.

mod asking;
mod call_states;
mod candidates;
mod check;
mod declared;
mod denied;
mod differential;
mod engine;
mod foreground;
mod items;
mod left_out;
mod limits;
mod repeated;
mod same_history;
mod shadow;
mod staged_turns;
mod staging;
mod states;
mod support;
mod tasks;

mod together;
mod tool_policies;
mod unconfined;
mod undone;
