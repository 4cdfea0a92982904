//! Servers and the questions to them: everything that needs a place to run programs.

mod adapter;
mod answer;
mod checker;
mod connection;
mod edit;
mod error;
mod intel;
mod job;
mod server;
mod session;
mod settings;
mod spawn;
mod state;
mod texts;

pub use adapter::{Adapter, CheckCommand, Nudge, Role, Settling};
pub use answer::{Action, Location, Locations, Place, Symbol, Symbols};
pub use edit::{EditError, EditPlan};
pub use error::IntelError;
pub use intel::CodeIntel;
pub use server::ServerStatus;
pub use settings::{Closed, Mode, Settings, Snapshot};
pub use spawn::{LanguageView, Process, Program, Spawn, SpawnError};
