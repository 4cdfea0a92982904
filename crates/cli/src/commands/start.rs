use std::path::Path;

use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::model_detection::{self, DetectedModels, Hint};
use headstart_machine::output::{self, ColorMode};
use headstart_machine::workspace;

/// The most rows of the page in a terminal of 80 columns.
const ROWS: usize = 10;

/// One row, so that the page has room for a way to begin with each provider.
const HEAD: &str = "headstart runs your next prompt while you read: Tab takes it, typing drops it.";
const CLOSING: &str = "Nothing is sent to a model before you send a prompt.";

/// Tells the user what headstart is and where to begin.
pub(crate) async fn run(context: &Context) -> Result<ExitStatus, CliError> {
    let hints = match chosen(context) {
        Some(model) => vec![Hint::of_chosen(&model)],
        None => DetectedModels::detect(&context.environment).await.hints(),
    };
    output::print(&page(hints, context.output.columns(), context.output.style()))?;
    Ok(ExitStatus::Done)
}

/// The configured model. An error in the configuration is not reported here, because the commands that use it report
/// it.
pub(super) fn chosen(context: &Context) -> Option<String> {
    let workspace = workspace::resolve(None).ok()?;
    let config = context.config(&Flags::default(), Path::new(&workspace)).ok()?;
    config.model.map(|model| model.to_string())
}

/// Shows as many ways to begin as the page has room for, and at least one.
fn page(mut hints: Vec<Hint>, columns: usize, style: ColorMode) -> String {
    loop {
        let text = text(&hints, columns, ColorMode::Plain);
        if text.lines().count() <= ROWS || hints.len() <= 1 {
            return self::text(&hints, columns, style);
        }
        hints.pop();
    }
}

fn text(hints: &[Hint], columns: usize, style: ColorMode) -> String {
    let all = [&[Hint::of_demo(), Hint::of_recording()], hints, &[Hint::of_help()]].concat();
    let wrapped = |text: &str| -> Vec<String> {
        textwrap::wrap(text, columns).into_iter().map(std::borrow::Cow::into_owned).collect()
    };
    let closing = wrapped(CLOSING).iter().map(|row| style.dim(row)).collect();
    let blank = || vec![String::new()];
    [wrapped(HEAD), blank(), model_detection::rows(&all, columns, style), closing].concat().join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(line: &str) -> Hint {
        Hint { line: line.to_owned(), why: "answers on localhost:11434".to_owned() }
    }

    #[test]
    fn the_page_has_ten_rows_of_80_columns_whatever_is_seen() {
        let short = hint("headstart chat --model ollama:qwen3");
        let long = hint(&format!(
            "headstart chat --model openai:{} --base-url http://localhost:1234/v1",
            "q".repeat(40)
        ));
        for (hints, told) in [
            (vec![short.clone()], 1),
            (vec![short.clone(); 4], 4),
            (vec![short.clone(); 5], 4),
            (vec![short, long.clone()], 2),
            (vec![long], 1),
        ] {
            let page = page(hints, 80, ColorMode::Plain);
            assert!(page.lines().count() <= ROWS, "{page}");
            assert_eq!(page.matches("--model").count(), 1 + told, "{page}");
            for word in ["headstart demo", "replay:demo", "headstart help", "answers on", CLOSING] {
                assert!(page.contains(word), "{page}");
            }
        }
    }

    #[test]
    fn a_narrow_terminal_has_no_row_that_is_too_wide_but_a_line_to_type() {
        let page = page(vec![hint("headstart chat --model ollama:qwen3")], 40, ColorMode::Plain);
        assert!(page.lines().all(|row| row.len() <= 40), "{page}");
    }
}
