use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;

use crate::args::AcpProxy;
use crate::hosts::proxy;

/// Runs the proxy between an editor and an agent.
pub(crate) async fn run(args: AcpProxy, context: &Context) -> Result<ExitStatus, CliError> {
    proxy::serve(context.clone(), args.command, args.suggestions).await
}
