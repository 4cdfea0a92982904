//! `shadow warm`: builds in advance the layers with which all views of a workspace begin.

use headstart_machine::config::Config;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output;
use headstart_machine::remote::Remote;
use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::{Command, End};
use headstart_toolbox::ViewSupport;
use serde::Serialize;

use super::other_machine::line_of;
use super::stored::size;
use super::{NO_VIEW, OutputSink, configured, remote, views};
use crate::args::ShadowWarm;

const NOTHING: &str = "nothing says what to run: write `headstart shadow warm -- cargo check`, \
                       or `[shadow]` with `warm = [\"cargo check\"]` in your configuration";

#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowWarmed", rename_all = "camelCase")]
struct WarmReport<'a> {
    exit_code: Option<i32>,
    end: End,
    millis: u64,
    output: String,
    folders: &'a [WorkspacePath],
    /// The bytes that are stored now.
    bytes: u64,
    kept: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

pub(super) async fn run(args: &ShadowWarm, context: &Context) -> Result<ExitStatus, CliError> {
    let (workspace, config, state) = configured(&args.workspace, context)?;
    if !args.here
        && let Some(remote) = remote(&workspace, &config, state.as_ref(), context)
    {
        return on_other_machine(args, workspace, &config, &remote, context).await;
    }
    let views = views(&workspace, &config, state.as_ref(), context);
    if let ViewSupport::None { why } = views.support() {
        output::note(&format!("headstart: there is no view here: {why}"));
        return Ok(ExitStatus::Of(NO_VIEW));
    }
    let commands: Vec<Command> = if args.command.is_empty() {
        views.warm_lines().iter().map(|line| views.layer_command(line)).collect()
    } else {
        vec![views.layer_program(&args.command)]
    };
    if commands.is_empty() {
        return Err(CliError::Unavailable(NOTHING.to_owned()));
    }
    let rules = config.gate_context(workspace)?;
    let json = context.output.is_json();
    let mut said = OutputSink::new(json);
    let filled =
        views.build_layers(&commands, &rules.deny, drop, &mut |stream, piece| said.take(stream, piece));
    let filled = filled.map_err(CliError::Unavailable)?;
    let said = said.finish()?;
    let exit_code = match filled.end {
        End::Exited { code } => Some(code),
        _ => None,
    };
    let why = filled.kept.as_ref().err().map(String::as_str);
    let bytes = filled.kept.as_ref().ok().copied().flatten().unwrap_or_default();
    let warmed = WarmReport {
        exit_code,
        end: filled.end,
        millis: u64::try_from(filled.time.as_millis()).unwrap_or(u64::MAX),
        output: said,
        folders: &filled.folders,
        bytes,
        kept: why.is_none(),
        why,
    };
    report_build(&warmed, json)
}

async fn on_other_machine(
    args: &ShadowWarm,
    workspace: String,
    config: &Config,
    remote: &Remote,
    context: &Context,
) -> Result<ExitStatus, CliError> {
    let lines =
        if args.command.is_empty() { remote.warm_lines().to_vec() } else { vec![line_of(&args.command)] };
    if lines.is_empty() {
        return Err(CliError::Unavailable(NOTHING.to_owned()));
    }
    let rules = config.gate_context(workspace)?;
    let built = remote.build(&rules.deny, &lines).await;
    let built = built.map_err(|why| CliError::Unavailable(format!("{}: {why}", remote.name())))?;
    let json = context.output.is_json();
    if !json {
        output::print(&output::printable(&built.output))?;
    }
    let warmed = WarmReport {
        exit_code: built.exit_code,
        end: built.exit_code.map_or(End::TimeUp, |code| End::Exited { code }),
        millis: built.millis,
        output: built.output.clone(),
        folders: &built.folders,
        bytes: built.bytes,
        kept: built.why.is_none(),
        why: built.why.as_deref(),
    };
    report_build(&warmed, json)
}

fn report_build(warmed: &WarmReport<'_>, json: bool) -> Result<ExitStatus, CliError> {
    if json {
        output::print_json(warmed)?;
    } else {
        let names: Vec<_> = warmed.folders.iter().map(ToString::to_string).collect();
        let note = match (warmed.why, warmed.bytes) {
            (Some(why), _) => format!("nothing is kept: {why}"),
            (None, 0) => "all of it was there already".to_owned(),
            (None, bytes) => format!("{}: {} kept for the next views", names.join(", "), size(bytes)),
        };
        output::note(&output::one_line(&note));
    }
    Ok(match (warmed.exit_code, warmed.why) {
        (Some(0), None) => ExitStatus::Done,
        (Some(0), Some(_)) | (None, _) => ExitStatus::Failed,
        (Some(code), _) => ExitStatus::Of(u8::try_from(code).unwrap_or(1)),
    })
}
