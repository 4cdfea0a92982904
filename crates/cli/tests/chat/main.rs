//! Runs `headstart chat` in a pseudo-terminal: the tests type keys, read the screen and look at the project.

#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/mod.rs"]
mod support;

mod boundary;
mod calls;
mod candidates;
mod commits;
mod completion;
mod conflict;
mod diffs;
mod dismissal;
mod display;
mod exit;
mod first_hour;
mod fixture;
mod flow;
mod hard_links;
mod hostile_project;
mod idle_build;
#[cfg(feature = "programs")]
mod intel;
mod keys;
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
mod matching;
mod modes;
mod pager;
mod parallel;
mod pipe;
mod prepared_views;
mod provider;
mod refused_calls;
mod resource_usage;
mod screen_reader;
#[cfg(feature = "mcp")]
mod server_login;
mod server_tools;
mod sessions;
mod sessions_shared;
mod staged_approval;
mod staged_turns;
mod startup;
mod status;
mod stories;
mod turns;
mod undo;
mod unfinished_work;
