//! Servers and the questions to them: everything that needs a place to run programs.

mod adapter;
mod change_sets;
mod checker;
mod connection;
mod edit;
mod error;
mod file_texts;
mod intel;
mod protocol;
mod request;
mod results;
mod server;
mod session;
mod settings;
mod spawn;

pub use adapter::{Adapter, CheckCommand, RecheckTrigger, Role, SettleSignal};
pub use edit::{EditError, EditPlan};
pub use error::IntelError;
pub use intel::CodeIntel;
pub use results::{Action, Location, Locations, Symbol, SymbolPosition, Symbols};
pub use server::ServerStatus;
pub use settings::{DiagnosticsSource, PathFilter, Settings, Snapshot};
pub use spawn::{LanguageHost, LanguageView, Process, Program, SpawnError};
