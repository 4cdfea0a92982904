use std::fmt::Write;

use headstart_agent::native::ListedSession;
use headstart_agent::{Item, Session};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output;
use headstart_machine::sessions::{Sessions, age_ms, title_of};
use headstart_machine::workspace;
use headstart_terminal::sanitize;
use serde::Serialize;

use crate::args::{SessionArgs, Sessions as Arguments, SessionsAction, WorkspaceArg};

/// One conversation, without its messages.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "session", rename_all = "camelCase")]
struct SessionRow<'a> {
    id: &'a str,
    title: &'a str,
    model: &'a str,
    created_at: u64,
    last_at: u64,
    prompts: usize,
    bytes: u64,
}

/// A session that could not be read.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "skipped", rename_all = "camelCase")]
struct SkippedSession {
    message: String,
}

/// Lists the conversations of a workspace, or shows, renames or removes one.
pub(crate) fn run(args: Arguments, context: &Context) -> Result<ExitStatus, CliError> {
    let of = |args: &WorkspaceArg| sessions_of(args, context);
    match args.action {
        None => list(&of(&args.workspace)?, context),
        Some(SessionsAction::Show(one)) => show(&of(&one.workspace)?, &one, context),
        Some(SessionsAction::Rename { of: one, title }) => {
            let sessions = of(&one.workspace)?;
            sessions.rename(&sessions.find(&one.id)?, &title)?;
            Ok(ExitStatus::Done)
        }
        Some(SessionsAction::Remove(one)) => {
            let sessions = of(&one.workspace)?;
            sessions.remove(&sessions.find(&one.id)?)?;
            Ok(ExitStatus::Done)
        }
    }
}

fn sessions_of(args: &WorkspaceArg, context: &Context) -> Result<Sessions, CliError> {
    let workspace = workspace::resolve(args.path.as_deref())?;
    Ok(Sessions::of(context.store()?.state_folder(), &workspace))
}

fn list(sessions: &Sessions, context: &Context) -> Result<ExitStatus, CliError> {
    let listed = sessions.list()?;
    let mut text = String::new();
    for ListedSession { id, session, .. } in &listed {
        let Err(error) = session else { continue };
        output::note(&format!("skipped: {error}"));
        if context.output.is_json() {
            output::print_json(&SkippedSession { message: format!("{id}: {error}") })?;
        }
    }
    for listed in &listed {
        let Ok(session) = &listed.session else { continue };
        if context.output.is_json() {
            output::print_json(&row(listed, session))?;
            continue;
        }
        let prompts = session.turns();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<11} {:>7}  {:>3} prompt{}  {}",
            listed.id,
            output::age(age_ms(listed)),
            prompts,
            if prompts == 1 { " " } else { "s" },
            title_of(session)
        );
    }
    if listed.is_empty() {
        output::note("no conversations of this workspace are kept; `headstart chat` begins one");
    }
    output::print(&text)?;
    Ok(ExitStatus::Done)
}

fn row<'a>(listed: &'a ListedSession, session: &'a Session) -> SessionRow<'a> {
    SessionRow {
        id: &listed.id,
        title: &session.title,
        model: &session.model,
        created_at: session.created,
        last_at: session.last,
        prompts: session.turns(),
        bytes: listed.bytes,
    }
}

fn show(sessions: &Sessions, of: &SessionArgs, context: &Context) -> Result<ExitStatus, CliError> {
    let session = sessions.read(&sessions.find(&of.id)?)?;
    if context.output.is_json() {
        session.history.iter().try_for_each(output::print_json)?;
        return Ok(ExitStatus::Done);
    }
    let mut text = String::new();
    for item in session.items() {
        let _ = match item {
            Item::Prompt { text: said } => writeln!(text, "\n> {}", sanitize(said)),
            Item::Answer { text: said } => writeln!(text, "{}", sanitize(said.trim_end())),
            Item::Call(call) => writeln!(text, "• {}", output::call_in_full(&call.call)),
            _ => Ok(()),
        };
    }
    output::print(text.trim_start())?;
    Ok(ExitStatus::Done)
}
