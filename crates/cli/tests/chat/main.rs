//! Runs `headstart chat` in a pseudo-terminal: the tests type keys, read the screen and look at the project.

#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/mod.rs"]
mod support;

mod aloud;
mod asking;
mod boundary;
mod calls;
mod candidates;
mod commits;
mod completing;
mod conflict;
mod diffs;
mod figures;
mod first;
mod first_hour;
mod fixture;
mod flow;
mod giving_up;
mod intel;
mod keys;
mod leaving;
mod ledger;
mod log;
#[cfg(feature = "mcp")]
#[path = "../../../tool-servers/tests/login/web.rs"]
#[expect(clippy::unwrap_used, dead_code, reason = "a helper of other tests, which use more of it")]
mod login_web;
#[cfg(feature = "mcp")]
#[path = "../../../tool-servers/tests/login/world.rs"]
#[expect(clippy::unwrap_used, dead_code, reason = "a helper of other tests, which use more of it")]
mod login_world;
mod looks;
mod modes;
mod parallel;
mod pipe;
mod prepared;
mod provider;
mod reading;
#[cfg(feature = "mcp")]
mod server_login;
mod server_tools;
mod sessions;
mod sessions_shared;
mod states;
mod status;
mod steps;
mod stories;
mod turns;
mod undo;
mod warm;
