use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::workspace;

use crate::args;
use crate::hosts::mcp;

/// Serves another agent as a tool server.
pub(crate) async fn run(args: args::Mcp, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = args.workspace.as_deref().map(|path| workspace::resolve(Some(path))).transpose()?;
    mcp::serve(workspace, context.state_dir.clone()).await?;
    Ok(ExitStatus::Done)
}
