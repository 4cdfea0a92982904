//! Reads the fields whose value is one of a few names.

use headstart_agent::{AfterDecline, Matching};
use headstart_speculation::{AtBoundary, Staging};
use headstart_tool_gate::{AheadWrites, ApprovalMode};

/// What the Tab key does with a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TabKey {
    /// Tab takes the suggestion and the work that ran ahead for it.
    #[default]
    Take,
    /// Tab puts the suggestion into the prompt; a second Tab takes it with its work.
    Insert,
}

/// The names of the approval modes.
pub const MODES: [&str; 5] = ["default", "plan", "chat", "auto-edit", "yolo"];

/// Reads an approval mode from its name.
pub fn parse_mode(name: &str) -> Result<ApprovalMode, String> {
    Ok(match name {
        "default" => ApprovalMode::Default,
        "plan" => ApprovalMode::Plan,
        "chat" => ApprovalMode::Chat,
        "auto-edit" => ApprovalMode::AutoEdit,
        "yolo" => ApprovalMode::Yolo,
        _ => return Err(format!("{name:?} is no approval mode; use default, plan, chat, auto-edit or yolo")),
    })
}

/// Reads from its name what happens to work that stopped at a boundary.
pub(super) fn parse_at_boundary(name: &str) -> Result<AtBoundary, String> {
    Ok(match name {
        "commit" => AtBoundary::Commit,
        "discard" => AtBoundary::Discard,
        _ => return Err(format!("{name:?} is none of commit and discard")),
    })
}

/// Reads from its name what happens to a turn whose user has declined a call.
pub(super) fn parse_after_decline(name: &str) -> Result<AfterDecline, String> {
    Ok(match name {
        "continue" => AfterDecline::Continue,
        "stop" => AfterDecline::Stop,
        _ => {
            return Err(format!(
                "{name:?} is none of continue (the model is told, and goes on) and stop (the turn ends)"
            ));
        }
    })
}

/// Reads from its name whether turns are staged.
pub(super) fn parse_staging(name: &str) -> Result<Staging, String> {
    Ok(match name {
        "auto" => Staging::Auto,
        "on" => Staging::On,
        "off" => Staging::Off,
        _ => return Err(format!("{name:?} is none of auto (where views are), on and off")),
    })
}

/// Reads from its name what happens to edits of work ahead.
pub(super) fn parse_ahead_writes(name: &str) -> Result<AheadWrites, String> {
    Ok(match name {
        "ask" => AheadWrites::Ask,
        "boundary" => AheadWrites::Boundary,
        _ => {
            return Err(format!(
                "{name:?} is none of ask (edits are staged, and you are asked once when you take them) and boundary \
                 (the work stops at its first edit)"
            ));
        }
    })
}

/// Reads from its name what the Tab key does.
pub(super) fn parse_tab(name: &str) -> Result<TabKey, String> {
    Ok(match name {
        "take" => TabKey::Take,
        "insert" => TabKey::Insert,
        _ => return Err(format!("{name:?} is none of take and insert")),
    })
}

/// Reads from its name which typed prompts take work that ran ahead.
pub(super) fn parse_match(name: &str) -> Result<Matching, String> {
    Ok(match name {
        "off" => Matching::Off,
        "exact" => Matching::Exact,
        "meaning" => Matching::Meaning,
        _ => {
            return Err(format!(
                "{name:?} is none of meaning (words that ask for the same work), exact (the same words) and off"
            ));
        }
    })
}

/// Checks the address of a server.
pub fn parse_base_url(url: &str) -> Result<String, String> {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let plain = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    match host {
        Some(host) if plain && !host.is_empty() && !host.starts_with('/') => {
            Ok(url.trim_end_matches('/').to_owned())
        }
        _ => Err(format!("{url:?} is no base URL; write it as http://host:port/v1 or https://host/v1")),
    }
}
