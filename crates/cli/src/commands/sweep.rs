use std::time::Duration;

use serde::Serialize;

use crate::args::Sweep;
use crate::clock;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::output::{self, Spinner};
use crate::store::{Keep, Swept};

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Line<'a> {
    Removed { name: &'a str, why: &'a str },
    Kept { name: &'a str, why: &'a str },
    Swept { removed: usize, kept: usize },
}

/// Removes what nobody needs any more.
pub(crate) fn run(args: &Sweep, context: &Context) -> Result<ExitStatus, CliError> {
    let days = u64::from(args.older_than);
    let keep = Keep { younger_than: Duration::from_secs(days * 24 * 60 * 60), undecided: !args.undecided };
    let spinner = Spinner::start("sweeping");
    let swept = context.store()?.sweep(clock::unix_ms(), keep)?;
    drop(spinner);
    swept.iter().try_for_each(|one| print(one, context))?;
    let removed = swept.iter().filter(|one| one.removed).count();
    let kept = swept.len() - removed;
    if context.output.is_json() {
        output::print_json(&Line::Swept { removed, kept })?;
    } else {
        output::print(&format!("{removed} removed, {kept} kept\n"))?;
    }
    Ok(ExitStatus::Done)
}

fn print(swept: &Swept, context: &Context) -> Result<(), CliError> {
    let (name, why) = (swept.name.as_str(), swept.why.as_str());
    if context.output.is_json() {
        let line = if swept.removed { Line::Removed { name, why } } else { Line::Kept { name, why } };
        return output::print_json(&line);
    }
    let verb = if swept.removed { "removed" } else { "kept" };
    output::print(&format!("{verb:7}  {}  {}\n", output::one_line(name), output::one_line(why)))
}
