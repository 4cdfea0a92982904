//! Tools of others: servers of the Model Context Protocol (MCP), tools behind one address, and the web.
//!
//! A [`ToolServers`] starts the servers that its user named, asks each for its tools once, and gives them out as
//! [`Tool`](headstart_toolbox::Tool)s that a toolbox takes. What a server says is text of a stranger: names, descriptions, schemas and results are cut and cleaned
//! ([`clean`]), arguments are held against the schema before anything is sent, and every failure is an error that names server and cause and ends nothing but
//! the call.
//!
//! What a tool is allowed to do is not decided here. A tool states what its server claims and what the user said of that
//! server ([`ServerTool::may_run_ahead`]); the gate decides from it.
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
//! [`fetch_url_tool`] reads a page of the web as text, and of nothing else: each address is looked up once, refused where it is this machine's, a private
//! network's or a special one, and connected to as it was looked up; so is each to which one redirects. [`search_web_tool`] asks the service that the user named.
//! Both are asked about in a turn, and never run ahead ([`web_declarations`]).
//!
//! # Limitations
//!
//! - Unix only, and within a tokio runtime.
//! - A server is a program of the user's: it runs with their rights, sees the real files, and is confined by nothing.
//! - What a server reads is not known, so it is in no read set.
//! - Of a result the model reads the texts; pictures and sound are named with their size.
//! - A page is fetched straight, through no proxy, for a proxy looks names up by itself. Its scripts do not run, and it is not asked for in a compressed form.
//! - Without the feature `oauth` nobody logs in: a server behind an address takes a token that the user has ([`Connect::Http`]).
//!
//! # Features
//!
//! - `oauth`: logins to servers behind an address (`PendingLogin`), which their user begins and nothing else does.
//!
//! # Decisions that are not obvious
//!
//! - **What is fetched is what was checked** (`src/web`). Each address is looked up once, refused unless it is public, and handed to the client
//!   as the only one there is; a redirect is a new address. Pages are read from their tokens, because the time to build a tree grows with the
//!   square of a depth that the page chooses.
//! - **A server is believed nothing that lets anything run** (`tool-servers`, `tool-gate/src/server_tools.rs`). What it says of a tool is a
//!   claim. It counts only where the user's own file says so, is read once at the start, and still gives no more than reading: the gate looks
//!   for paths in every text of a call, because it knows nothing of such a tool's arguments, and the engine stops before it once anything is
//!   staged, because a server sees the real files. The tool itself looks at both once more. Work ahead has connections of its own, known by the
//!   overlay of the work, so they go with it and nothing that a server remembers passes between work and turns. A server of a project's file is
//!   asked about by the hash of its entry and of the scripts that its command names.

mod arguments;
mod catalogue;
mod config;
mod connection;
mod http_tool;
#[cfg_attr(not(feature = "oauth"), path = "login/absent.rs")]
mod login;
mod offers;
mod process;
mod server;
mod servers;
mod tool;
mod trouble;
mod untrusted;
mod web;

pub use catalogue::LeftOut;
pub use config::{Connect, Login, LoginClient, NameError, ServerConfig, ServerName, Trust};
pub use http_tool::{HttpTool, HttpToolConfig};
#[cfg(feature = "oauth")]
pub use login::{LoggedIn, PendingLogin};
pub use offers::{ListedPrompt, ListedResource, PromptArgument};
pub use servers::{Started, ToolServers};
pub use tool::ServerTool;
pub use untrusted::clean;
pub use web::{SearchConfig, SearchRequest, fetch_url_tool, search_web_tool, web_declarations};
