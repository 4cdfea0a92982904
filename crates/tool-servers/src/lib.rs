//! Tools from elsewhere: servers of the Model Context Protocol (MCP), tools at an address, and the web.
//!
//! A [`ToolServers`] starts the servers that the user configured, asks each for its tools once, and provides them as
//! [`Tool`](headstart_toolbox::Tool)s for a toolbox. Everything that a server sends is text of a stranger: names,
//! descriptions, schemas and results are cut and cleaned ([`clean`]), arguments are checked against the schema before
//! anything is sent, and every failure is an error that names server and cause and ends only the call.
//!
//! What a tool may do is not decided here. A tool states what its server claims and what the user said about that
//! server ([`ServerTool::may_run_ahead`]); the gate decides from that.
//!
//! ```
//! use headstart_tool_servers::{ServerName, clean};
//!
//! assert!(ServerName::new("github").is_ok());
//! assert!(ServerName::new("a__b").is_err(), "two servers could have the same tool");
//! assert_eq!(clean("\u{1b}[31mred\u{1b}[0m\u{202e}", 100), "red");
//! ```
//!
//! # The web
//!
//! [`fetch_url_tool`] reads a page of the public web as text, and nothing else: each address is looked up once,
//! refused if it belongs to this machine, a private network or a special purpose, and connected to as it was looked
//! up; the same holds for each redirect. [`search_web_tool`] asks the service that the user configured. A turn asks
//! before both, and they never run ahead ([`web_declarations`]).
//!
//! # Limitations
//!
//! - Unix only, and within a tokio runtime.
//! - A server is a program of the user: it runs with their rights, sees the real files, and is not confined.
//! - It is not known what a server reads, so that is in no read set.
//! - The model reads the texts of a result; pictures and sound are mentioned with their size.
//! - A page is fetched without a proxy, because a proxy looks names up by itself. Its scripts do not run, and it is
//!   not requested in a compressed form.
//! - Without the feature `oauth` nobody can log in: a server at an address needs a token that the user already has
//!   ([`Connect::Http`]).
//!
//! # Features
//!
//! - `oauth`: logins to servers at an address (`PendingLogin`). Only the user can begin one.
//!
//! # Decisions that are not obvious
//!
//! - **What is fetched is what was checked** (`src/web`). Each address is looked up once, refused unless it is
//!   public, and given to the client as the only possible one; a redirect is a new address. Pages are read token by
//!   token, because the time for building a tree grows with the square of a depth that the page chooses.
//! - **No claim of a server lets anything run by itself** (`tool-servers`, `tool-gate/src/server_tools.rs`). What it
//!   says about a tool only counts if the user's own file says so, is read once at the start, and still permits no
//!   more than reading: the gate looks for paths in every text of a call, because it knows nothing of such a tool's
//!   arguments, and the engine stops before the call once anything is staged, because a server sees the real files.
//!   The tool itself checks both once more. Work ahead has connections of its own, identified by the overlay of the
//!   work, so they end with it and nothing that a server remembers passes between work and turns. The user is asked
//!   about a server in a project's file by the hash of its entry and of the scripts that its command names.

mod arguments;
mod catalogue;
mod config;
mod connection;
mod http_tool;
#[cfg_attr(not(feature = "oauth"), path = "login/unavailable.rs")]
mod login;
mod offers;
mod process;
mod request_failure;
mod server;
mod servers;
mod tool;
mod untrusted;
mod web;

pub use catalogue::OmittedTool;
pub use config::{Connect, Login, LoginClient, NameError, ServerConfig, ServerName, Trust};
pub use http_tool::{HttpTool, HttpToolConfig};
#[cfg(feature = "oauth")]
pub use login::{PendingLogin, StoredLogin};
pub use offers::{ListedPrompt, ListedResource, PromptArgument};
pub use servers::{StartReport, ToolServers};
pub use tool::ServerTool;
pub use untrusted::clean;
pub use web::{SearchConfig, SearchRequest, fetch_url_tool, search_web_tool, web_declarations};
