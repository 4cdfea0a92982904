//! The choices that a field has, by their names.

use headstart_agent::AfterDecline;
use headstart_speculation::AtBoundary;
use headstart_tool_gate::{AheadWrites, ApprovalMode};

/// What the Tab key does with a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TabKey {
    /// Takes it, and the work behind it.
    #[default]
    Take,
    /// Puts it into the prompt; pressed again, it takes what stands there.
    Insert,
}

/// An approval mode by its name.
pub(crate) fn parse_mode(name: &str) -> Result<ApprovalMode, String> {
    Ok(match name {
        "default" => ApprovalMode::Default,
        "plan" => ApprovalMode::Plan,
        "chat" => ApprovalMode::Chat,
        "auto-edit" => ApprovalMode::AutoEdit,
        "yolo" => ApprovalMode::Yolo,
        _ => return Err(format!("{name:?} is no approval mode; use default, plan, chat, auto-edit or yolo")),
    })
}

/// What becomes of work that stopped at a boundary, by its name.
pub(super) fn parse_at_boundary(name: &str) -> Result<AtBoundary, String> {
    Ok(match name {
        "commit" => AtBoundary::Commit,
        "discard" => AtBoundary::Discard,
        _ => return Err(format!("{name:?} is none of commit and discard")),
    })
}

/// What becomes of a turn whose user has said no to a call, by its name.
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

/// What becomes of edits of work ahead, by its name.
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

/// What the Tab key does, by its name.
pub(super) fn parse_tab(name: &str) -> Result<TabKey, String> {
    Ok(match name {
        "take" => TabKey::Take,
        "insert" => TabKey::Insert,
        _ => return Err(format!("{name:?} is none of take and insert")),
    })
}

/// The address of a server.
pub(crate) fn parse_base_url(url: &str) -> Result<String, String> {
    let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let plain = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    match host {
        Some(host) if plain && !host.is_empty() && !host.starts_with('/') => {
            Ok(url.trim_end_matches('/').to_owned())
        }
        _ => Err(format!("{url:?} is no base URL; write it as http://host:port/v1 or https://host/v1")),
    }
}
