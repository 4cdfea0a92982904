//! `headstart demo`: the whole flow on a bundled sample project. A recording takes the place of the model; the engine,
//! the gate, the tools, the overlay, the files and git are the real ones. `headstart chat --model replay:demo` plays
//! the same recording for a user who presses the keys.

mod chat;
mod next;
mod printer;
mod sample;
mod session;
mod story;
mod table;

use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinHandle;

pub(crate) use self::chat::{DemoChat, config_of_chat};
pub(crate) use self::next::{NextCommand, next_steps};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::Output;
use headstart_machine::system::signals::Signals;
use printer::{ProgressPrinter, millis};
use session::{DemoSession, baseline};

const REQUEST: &str = "add a function that gives the most frequent words";

/// A task that does the same work in the foreground, on a second copy of the project, at the same time.
type Baseline = JoinHandle<Result<Vec<(String, Duration)>, CliError>>;

/// One row of the closing table.
#[derive(Serialize)]
#[serde(tag = "type", rename = "timeline", rename_all = "camelCase")]
struct RunTiming {
    prompt: String,
    /// How long the work took when it ran ahead.
    work_ms: u64,
    /// How long the user read before they pressed Tab.
    reading_ms: u64,
    /// The time from Tab until the prompt was done: its files were applied, what it had to ask about had run, and the
    /// history continued.
    tab_to_done_ms: f64,
    /// The time of the same work in the foreground, measured in the same run on a second copy of the project.
    without_ms: u64,
}

/// Plays the demo. `speed` divides the recording's delays and the reading times. The demo's folders are deleted however
/// it ends.
pub(crate) async fn run(context: &Context, speed: f64) -> Result<ExitStatus, CliError> {
    let mut signals = Signals::new().map_err(CliError::Input)?;
    let mut without = tokio::spawn(baseline(speed));
    let ended = tokio::select! {
        ended = play(context.output, speed, &mut without) => ended,
        signal = signals.next() => {
            Err(CliError::Signalled { signal, what: "the demo's folders are gone".to_owned() })
        }
    };
    if !without.is_finished() {
        without.abort();
        let _ = without.await;
    }
    if ended.is_ok() && !context.output.is_json() {
        headstart_machine::output::print(&next_steps(NextCommand::Demo, context).await)?;
    }
    ended
}

async fn play(output: Output, speed: f64, without: &mut Baseline) -> Result<ExitStatus, CliError> {
    let mut session = DemoSession::create(speed).await?;
    let printer = ProgressPrinter::new(output);
    printer.heading(
        "A recording stands in for the model; all else is real, in a sample project that goes afterwards. Edits do not ask \
         here (auto-edit mode); in default mode Tab shows the diff and asks once.",
    )?;
    let mut rows = Vec::new();

    printer.heading("1. You ask, the model works, you watch and wait.")?;
    session.foreground(&printer, REQUEST).await?;
    let first = session.suggestion().await?;
    printer.say("suggest", &format!("{first}    [Tab]"))?;

    printer
        .heading("2. While you read, the suggestion runs ahead, its tests as well. Nothing in the project changes until Tab.")?;
    let mut suggestion = first;
    for reading in [2_600, 2_000] {
        let (row, next) = session.tab(&printer, &suggestion, Duration::from_millis(reading)).await?;
        rows.push(row);
        suggestion = next;
    }

    printer.heading("3. A commit waits for Tab like everything else. A push cannot be taken back: the work stops there and asks.")?;
    let (row, next) = session.tab(&printer, &suggestion, Duration::from_millis(1_500)).await?;
    rows.push(row);

    printer.heading("4. You type something else: nothing ever happened.")?;
    session.abort(&printer, &next, Duration::from_millis(900)).await?;

    let without = without.await.map_err(|error| CliError::Demo(error.to_string()))??;
    for row in &mut rows {
        row.without_ms =
            without.iter().find(|(prompt, _)| *prompt == row.prompt).map_or(0, |(_, time)| millis(*time));
    }
    table::print(&printer, &rows)?;
    Ok(ExitStatus::Done)
}
