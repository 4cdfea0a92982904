//! How headstart serves programs that people already use.

pub(crate) mod hooks;
