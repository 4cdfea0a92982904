use crate::args;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::hosts::mcp;
use crate::workspace;

/// Serves another agent as a tool server.
pub(crate) async fn run(args: args::Mcp, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = args.workspace.as_deref().map(|path| workspace::resolve(Some(path))).transpose()?;
    mcp::serve(workspace, context.state_dir.clone()).await?;
    Ok(ExitStatus::Done)
}
