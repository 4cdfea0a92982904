//! Runs the binary from the first prompt to the last accept, with recordings and with a server on the loopback
//! interface.

#![expect(clippy::unwrap_used, reason = "what a helper cannot do stops the test")]

#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/mod.rs"]
mod support;

mod accept;
mod background;
mod bad_input;
#[cfg(feature = "bedrock")]
mod bedrock;
mod build_output;
mod checked;
mod codebase;
mod commits;
mod confinement;
mod demo;
mod dialects;
mod ends;
mod faults;
mod formats;
mod found;
mod git;
mod images;
mod intel;
mod intel_servers;
mod intel_views;
mod kept_prefix;
mod killed;
mod no_views;
mod policies;
mod provider;
mod recording;
mod recording_formats;
mod remote;
mod rules;
mod saved;
mod scope;
mod server_mentions;
mod shadow;
mod suggest;
mod text_tools;
mod thoughts;
mod tool_policies;
mod undo;
mod untold;
mod view_diff;
mod view_network;
mod web;
mod whole_task;
