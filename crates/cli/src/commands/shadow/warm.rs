//! `shadow warm`: builds ahead what all views of a workspace begin with.

use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::{Command, End};
use headstart_toolbox::Support;
use serde::Serialize;

use super::kept::size;
use super::{NO_VIEW, Said, open};
use crate::args::ShadowWarm;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::output;

#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowWarmed", rename_all = "camelCase")]
struct Warmed<'a> {
    exit_code: Option<i32>,
    end: End,
    millis: u64,
    output: String,
    folders: &'a [WorkspacePath],
    /// Bytes that are kept now.
    bytes: u64,
    kept: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

pub(super) fn run(args: &ShadowWarm, context: &Context) -> Result<ExitStatus, CliError> {
    let (workspace, config, views) = open(&args.workspace, context)?;
    if let Support::None { why } = views.support() {
        output::note(&format!("headstart: there is no view here: {why}"));
        return Ok(ExitStatus::Of(NO_VIEW));
    }
    let commands: Vec<Command> = if args.command.is_empty() {
        views.warm_lines().iter().map(|line| views.fill_line(line)).collect()
    } else {
        vec![views.fill_program(&args.command)]
    };
    if commands.is_empty() {
        let problem = "nothing says what to run: write `headstart shadow warm -- cargo check`, \
                       or `[shadow]` with `warm = [\"cargo check\"]` in your configuration";
        return Err(CliError::Unavailable(problem.to_owned()));
    }
    let rules = config.gate_context(workspace)?;
    let json = context.output.is_json();
    let mut said = Said::new(json);
    let filled = views.fill(&commands, &rules.deny, drop, &mut |stream, piece| said.take(stream, piece));
    let filled = filled.map_err(CliError::Unavailable)?;
    let said = said.whole()?;
    let exit_code = match filled.end {
        End::Exited { code } => Some(code),
        _ => None,
    };
    let why = filled.kept.as_ref().err().map(String::as_str);
    let bytes = filled.kept.as_ref().ok().copied().flatten().unwrap_or_default();
    if json {
        output::print_json(&Warmed {
            exit_code,
            end: filled.end,
            millis: u64::try_from(filled.time.as_millis()).unwrap_or(u64::MAX),
            output: said,
            folders: &filled.folders,
            bytes,
            kept: why.is_none(),
            why,
        })?;
    } else {
        let names: Vec<_> = filled.folders.iter().map(ToString::to_string).collect();
        output::note(&match &filled.kept {
            Ok(Some(bytes)) => format!("{}: {} kept for the next views", names.join(", "), size(*bytes)),
            Ok(None) => "all of it was there already".to_owned(),
            Err(why) => format!("nothing is kept: {why}"),
        });
    }
    Ok(match (exit_code, why) {
        (Some(0), None) => ExitStatus::Done,
        (Some(0), Some(_)) | (None, _) => ExitStatus::Failed,
        (Some(code), _) => ExitStatus::Of(u8::try_from(code).unwrap_or(1)),
    })
}
