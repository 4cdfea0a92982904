//! What a model sees of the tools, through the crate's public interface.

mod calls;
mod commands;
mod denied;
mod disk;
mod ignored;
#[cfg(feature = "more")]
mod more;
mod reading;
mod searching;
mod session;
#[cfg(feature = "more")]
mod view_diff;
mod views;
mod writing;
