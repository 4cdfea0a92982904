//! Finds the tests of a source file by the lines above each function.

/// Begins a comment above a test that names the rows which the test checks: `S47`, or several with commas.
pub(super) const ROW_MARK: &str = "// Row: ";

/// A function, or a mark that has no function below it.
pub(super) struct Function<'a> {
    /// `None` if there is no function below the mark.
    pub(super) name: Option<&'a str>,
    pub(super) is_test: bool,
    /// The rows that its marks name, each with the number of its line, counted from 1.
    pub(super) rows: Vec<(usize, &'a str)>,
}

/// The functions of a Rust source file, in order.
pub(super) fn functions(source: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let (mut is_test, mut rows, mut in_attribute) = (false, Vec::new(), false);
    for (at, line) in source.lines().enumerate() {
        let line = line.trim();
        if let Some(rows_text) = line.strip_prefix(ROW_MARK) {
            rows.extend(rows_text.split(',').map(|row| (at + 1, row.trim())));
        } else if in_attribute || line.starts_with("#[") {
            is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
            in_attribute = !line.ends_with(']');
        } else if !line.starts_with("//") {
            let name = function_name(line);
            if name.is_some() || !rows.is_empty() {
                found.push(Function { name, is_test, rows: std::mem::take(&mut rows) });
            }
            is_test = false;
        }
    }
    if !rows.is_empty() {
        found.push(Function { name: None, is_test: false, rows });
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let before = ["pub(crate) ", "pub(super) ", "pub ", "async "];
    let line = before.iter().fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    let (name, _) = line.strip_prefix("fn ")?.split_once(['(', '<'])?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_what_has_the_attribute() {
        let marked = |row: &str| format!("    {ROW_MARK}{row}\n");
        let source = [
            "#[test]\nfn one() {}\n\n".to_owned(),
            marked("S1, S2"),
            "    #[test]\n    #[ignore = \"long\"]\n    #[expect(\n        lint,\n        reason = \"x\"\n    )]\n    async fn two() {}\n".to_owned(),
            marked("S3"),
            "    // A helper.\n    pub(crate) fn three<T>() {}\nconst X: u8 = 1;\n".to_owned(),
            marked("S4"),
            "\n#[test]\nfn four() {}\n".to_owned(),
            marked("S5"),
        ];
        let source = source.concat();
        let found: Vec<_> = functions(&source)
            .into_iter()
            .map(|function| {
                let rows: Vec<_> = function.rows.iter().map(|(_, row)| *row).collect();
                (function.name.unwrap_or("none"), function.is_test, rows.join(" "))
            })
            .collect();
        let expected = [
            ("one", true, ""),
            ("two", true, "S1 S2"),
            ("three", false, "S3"),
            ("none", false, "S4"),
            ("four", true, ""),
            ("none", false, "S5"),
        ];
        assert_eq!(found, expected.map(|(name, is_test, rows)| (name, is_test, rows.to_owned())));
    }
}
