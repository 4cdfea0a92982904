use headstart_machine::error::CliError;

use super::RunTiming;
use super::printer::ProgressPrinter;

/// The least columns of a table with all columns.
const WIDE: usize = 79;

/// Prints the measurements: one object for each row, or a table.
pub(super) fn print(printer: &ProgressPrinter, rows: &[RunTiming]) -> Result<(), CliError> {
    rows.iter().try_for_each(|row| printer.object(row))?;
    printer.heading("What you waited for, in milliseconds, all measured in this run")?;
    printer.print_for_people(|| lines(rows, printer.columns()).join("\n") + "\n")
}

fn lines(rows: &[RunTiming], columns: usize) -> Vec<String> {
    let cells = |row: &RunTiming| {
        let numbers = [row.without_ms, row.work_ms, row.reading_ms].map(|number| number.to_string());
        let [without, work, reading] = numbers;
        [row.prompt.clone(), format!("{:.1}", row.tab_to_done_ms), without, work, reading]
    };
    let head = ["prompt", "Tab to done", "without headstart", "ran ahead in", "you read for"];
    std::iter::once(head.map(str::to_owned))
        .chain(rows.iter().map(cells))
        .map(|[prompt, done, without, work, reading]| {
            let line = format!("  {prompt:<20} {done:>11}");
            match columns {
                WIDE.. => format!("{line} {without:>18} {work:>12} {reading:>12}"),
                53.. => format!("{line} {without:>18}"),
                _ => line,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_columns_that_fit() {
        let row = RunTiming {
            prompt: "update the changelog".to_owned(),
            work_ms: 1_409,
            reading_ms: 2_000,
            tab_to_done_ms: 1.68,
            without_ms: 1_411,
        };
        for (columns, most, numbers) in [(120, 80, 4), (80, 80, 4), (79, 79, 4), (60, 60, 2), (40, 40, 1)] {
            let lines = lines(std::slice::from_ref(&row), columns);
            assert!(lines.iter().all(|line| line.len() <= most), "{columns}: {lines:?}");
            assert_eq!(lines[1].split_whitespace().count(), 3 + numbers, "{columns}: {lines:?}");
        }
    }
}
