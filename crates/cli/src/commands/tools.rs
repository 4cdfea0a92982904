use std::path::Path;

use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::PageLayout;
use headstart_machine::tool_rows::{lines, row};
use headstart_machine::{output, setup, workspace};

use crate::args::Tools;

/// Lists the tools that the model of a chat is offered here, with the configuration's setting for each.
pub(crate) fn run(args: &Tools, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&args.mode.flags(), Path::new(&workspace))?;
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let toolbox = setup::offered_toolbox(&config, &workspace, &context.environment, state.as_deref())?;
    let gate = config.gate_context(workspace)?;
    let names = toolbox.schemas().into_iter().map(|schema| schema.name);
    let rows: Vec<_> = names.map(|tool| row(tool, &gate)).collect();
    if context.output.is_json() {
        rows.iter().try_for_each(output::print_json)?;
    } else {
        output::print(&(lines(&rows, gate.mode, PageLayout::of(context).width).join("\n") + "\n"))?;
    }
    Ok(ExitStatus::Done)
}
