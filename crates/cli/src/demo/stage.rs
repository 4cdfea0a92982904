use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use headstart_followup_state::Suggestion;
use headstart_forked_query::{Message, ModelRequest, Recording, Replay};
use headstart_speculation::{
    Acceptance, Accepted, Ending, Engine, Event, Events, Finished, Limits, Speculation, Transcript,
};
use headstart_tool_gate::ApprovalMode;
use tokio::sync::mpsc;

use super::narrator::{Narrator, millis, one_line};
use super::sample::{RECORDING, Sample};
use super::{REQUEST, Row};
use crate::error::CliError;
use crate::host::Ask;
use crate::session::{Session, Setup};

/// The sample project, a conversation about it, and a user who can be counted on.
pub(super) struct Stage {
    sample: Sample,
    session: Session,
    asks: mpsc::UnboundedReceiver<Ask>,
    speed: f64,
}
