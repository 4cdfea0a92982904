//! The tool servers with which a chat begins, and the questions about those of its project.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use headstart_tool_gate::PolicyOrigin;

use super::{ApprovalState, ApprovalSubject, Approvals, ServerTools};
use crate::config::{Config, ServerSetting, Transport, TrustSetting};
use crate::conversation::ServersStart;
use crate::environment::Environment;
use crate::error::CliError;
use crate::output;

/// After this time the user is told what the chat waits for.
const SILENT: Duration = Duration::from_secs(1);

/// The tool servers of a conversation. Those that are not started here, the front end starts, while its user can already
/// type ([`ServerTools::has_pending_start`]).
pub async fn begin(
    config: &Config,
    workspace: &str,
    state: Option<&Path>,
    environment: &Environment,
    starts: ServersStart,
) -> Result<ServerTools, CliError> {
    let mut approvals = Approvals::of(workspace, state);
    for subject in of_project(config) {
        let is_asked =
            starts == ServersStart::AfterQuestions && approvals.answer(&subject) == ApprovalState::NotAsked;
        if is_asked && !subject.is_too_long_to_show() {
            let question = approvals.question(&subject);
            let yes = ask(&subject, question.counts_once()).await?;
            approvals.keep(question, yes)?;
        }
    }
    let tools = ServerTools::named(config, workspace, environment, &approvals);
    if starts == ServersStart::First {
        start(&tools).await;
    }
    tools.troubles().iter().for_each(|trouble| output::note(trouble));
    Ok(tools)
}

/// Waits until the servers have started, or their time is up.
async fn start(tools: &ServerTools) {
    let starting = tools.start_all();
    tokio::pin!(starting);
    tokio::select! {
        () = &mut starting => return,
        () = tokio::time::sleep(SILENT) => {}
    }
    output::note("waiting for the tool servers to start");
    starting.await;
}

/// Asks whether an entry of a project may start. Every answer but yes is a no.
async fn ask(subject: &ApprovalSubject<'_>, counts_once: bool) -> Result<bool, CliError> {
    let what = match subject {
        ApprovalSubject::Server(ServerSetting { transport: Transport::Command(_), .. }) => {
            "wants to run a tool server, with your rights"
        }
        ApprovalSubject::Server(_) => "wants to reach a tool server",
        ApprovalSubject::Http(_) => "wants to offer a tool behind an address",
    };
    let mut text = format!("This project {what}:\n  {}", subject.shown());
    text.push_str(if counts_once {
        "It may run any of this project's files, which are too many to compare later. Have it start now? [y/N] "
    } else {
        "Have it start here, now and later? [y/N] "
    });
    output::print(&text)?;
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdout().flush()?;
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let answer = answer.await.map_err(|error| CliError::Input(error.into()))?.map_err(CliError::Input)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The entries of the project's file.
fn of_project(config: &Config) -> Vec<ApprovalSubject<'_>> {
    let others = &config.external_tools;
    let servers = others
        .servers
        .iter()
        .filter(|server| server.trust != TrustSetting::Excluded)
        .map(ApprovalSubject::Server);
    let all = servers.chain(others.http_tools.iter().map(ApprovalSubject::Http));
    all.filter(|subject| subject.origin() == PolicyOrigin::Project).collect()
}
