use crate::args::AcpProxy;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::hosts::proxy;

/// Runs the proxy between an editor and an agent.
pub(crate) async fn run(args: AcpProxy, context: &Context) -> Result<ExitStatus, CliError> {
    proxy::serve(context.clone(), args.command, args.suggestions).await
}
