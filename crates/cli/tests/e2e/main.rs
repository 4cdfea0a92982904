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
mod closed_in_git;
mod closed_meanwhile;
mod codebase;
mod commits;
mod concurrent_saves;
mod confinement;
mod demo;
mod dialects;
mod external_changes;
mod faults;
mod formats;
mod gemini_cache;
mod git;
mod git_reading;
mod half_moves;
mod images;
#[cfg(feature = "programs")]
mod intel;
#[cfg(feature = "programs")]
mod intel_servers;
#[cfg(feature = "programs")]
mod intel_views;
mod no_views;
mod outcomes;
mod permissions;
mod policies;
mod private_authority;
mod process_death;
mod project_check;
mod provider;
mod reasoning_content;
mod recording;
mod recording_formats;
mod remote;
mod rules;
mod rust_home;
mod scope;
mod served_here;
mod server_mentions;
mod shadow;
mod suggest;
mod text_tools;
mod tool_policies;
mod undo;
mod unknown_cost;
mod view_diff;
mod view_network;
mod web;
mod whole_task;
