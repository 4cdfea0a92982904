use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;

use crate::args::Demo;
use crate::demo;

/// Runs the demonstration on the bundled sample project.
pub(crate) async fn run(args: Demo, context: &Context) -> Result<ExitStatus, CliError> {
    demo::run(context, args.speed).await
}
