//! How headstart serves editors, agents and other programs that people already use.

#[cfg(feature = "acp")]
pub(crate) mod acp;
pub(crate) mod hooks;
#[cfg(any(feature = "acp", feature = "mcp"))]
mod lines;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod node;
#[cfg(feature = "acp")]
pub(crate) mod proxy;
#[cfg(any(feature = "acp", feature = "mcp"))]
mod rpc;
