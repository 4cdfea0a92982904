//! Reads test results from the output of well-known test runners.

/// How many tests a command ran, according to its own output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestSummary {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, or could not run.
    pub failed: u64,
}

impl TestSummary {
    /// Reads the output of cargo, pytest, unittest, vitest, jest, `go test -v` or any runner that prints TAP (the Test
    /// Anything Protocol); `None` if it is none of these, was cut in between, or mentions no test (the last part of cargo's output, about examples in the documentation, is
    /// often all that `tail` leaves).
    pub fn of(output: &str) -> Option<Self> {
        let found =
            [cargo, pytest, unittest, vitest, jest, go, tap].into_iter().find_map(|read| read(output));
        found.filter(|found| *found != Self::default())
    }

    /// A short description: `42 passed`, or `1 failed, 41 passed`.
    pub fn words(self) -> String {
        match self {
            Self { passed, failed: 0 } => format!("{passed} passed"),
            Self { passed, failed } => format!("{failed} failed, {passed} passed"),
        }
    }

    fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

/// `test result: ok. 3 passed; 0 failed; 0 ignored; …`, once for each binary.
fn cargo(output: &str) -> Option<TestSummary> {
    let lines = output.lines().filter_map(|line| line.trim().strip_prefix("test result: "));
    lines.map(|line| counts(line, ';')).reduce(TestSummary::and)
}

/// `==== 1 failed, 41 passed in 0.12s ====`, or with `-q` the same without the bars.
fn pytest(output: &str) -> Option<TestSummary> {
    let line = output.lines().rev().find(|line| {
        let line = line.trim_matches(['=', ' ']);
        line.contains(" in ") && line.ends_with('s') && line.starts_with(|first: char| first.is_ascii_digit())
    })?;
    Some(counts(line.trim_matches('=').split(" in ").next()?, ','))
}

/// `Ran 42 tests in 0.012s`, and below it `OK`, `OK (skipped=1)` or `FAILED (failures=1, errors=2)`.
fn unittest(output: &str) -> Option<TestSummary> {
    let mut lines = output.lines().map(str::trim).rev();
    let end = lines.by_ref().find(|line| line.starts_with("OK") || line.starts_with("FAILED ("))?;
    let ran = lines.find(|line| !line.is_empty())?.strip_prefix("Ran ")?;
    let ran: u64 = ran.split(' ').next()?.parse().ok()?;
    let count = |what: &str| -> u64 {
        let parts = end.split(['(', ',', ')']).filter_map(|part| part.trim().split_once('='));
        parts.filter(|(name, _)| *name == what).filter_map(|(_, number)| number.parse::<u64>().ok()).sum()
    };
    let failed = count("failures") + count("errors") + count("unexpected successes");
    let passed = ran.saturating_sub(failed + count("skipped") + count("expected failures"));
    Some(TestSummary { passed, failed })
}

/// `      Tests  1 failed | 41 passed (42)`.
fn vitest(output: &str) -> Option<TestSummary> {
    let line = output.lines().rev().find_map(|line| line.trim().strip_prefix("Tests  "))?;
    Some(counts(line, '|'))
}

/// `Tests:       1 failed, 41 passed, 42 total`.
fn jest(output: &str) -> Option<TestSummary> {
    let line = output.lines().rev().find_map(|line| line.trim().strip_prefix("Tests:"))?;
    Some(counts(line, ','))
}

/// `--- PASS: TestAdd (0.00s)`: only with `-v`, because go does not report the number of tests otherwise.
fn go(output: &str) -> Option<TestSummary> {
    let count = |start: &str| output.lines().filter(|line| line.starts_with(start)).count() as u64;
    let found = TestSummary { passed: count("--- PASS: "), failed: count("--- FAIL: ") };
    (found != TestSummary::default()).then_some(found)
}

/// `1..3` before or after a line for each test: `ok 1 - name`, `not ok 2 - name`. Tests that are skipped or still to be
/// written count as neither. An indented line belongs to a test whose own line follows it.
fn tap(output: &str) -> Option<TestSummary> {
    let planned =
        output.lines().find_map(|line| line.strip_prefix("1..")?.split(' ').next()?.parse::<u64>().ok())?;
    let (mut found, mut said) = (TestSummary::default(), 0);
    for line in output.lines() {
        let (count, rest) = match (line.strip_prefix("ok"), line.strip_prefix("not ok")) {
            (Some(rest), _) => (&mut found.passed, rest),
            (_, Some(rest)) => (&mut found.failed, rest),
            _ => continue,
        };
        if !(rest.is_empty() || rest.starts_with(' ')) {
            continue;
        }
        said += 1;
        let directive = rest.rsplit_once("# ").map(|(_, directive)| directive.to_ascii_uppercase());
        if !directive.is_some_and(|words| words.starts_with("SKIP") || words.starts_with("TODO")) {
            *count += 1;
        }
    }
    // A test that was planned and has no line could not run.
    found.failed += planned.saturating_sub(said);
    Some(found)
}

/// The numbers before `passed` and `failed` (or `error`, `errors`) among parts of a line.
fn counts(line: &str, apart: char) -> TestSummary {
    let mut found = TestSummary::default();
    for part in line.split(apart) {
        let words: Vec<&str> = part.split_whitespace().collect();
        for pair in words.windows(2) {
            let Ok(number) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => found.passed += number,
                "failed" | "error" | "errors" => found.failed += number,
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runners_own_words_are_counted() {
        let cases = [
            (
                "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
                 test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
                Some("1 failed, 5 passed"),
            ),
            ("....\n4 passed in 0.02s\n", Some("4 passed")),
            ("=== 1 failed, 41 passed, 2 warnings in 3.10s ===", Some("1 failed, 41 passed")),
            ("===== 2 errors in 0.10s =====", Some("2 failed, 0 passed")),
            (
                " Test Files  2 passed (2)\n      Tests  1 failed | 41 passed (42)\n",
                Some("1 failed, 41 passed"),
            ),
            ("Test Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\n", Some("3 passed")),
            (
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\n",
                Some("1 failed, 1 passed"),
            ),
            ("...\n-----\nRan 3 tests in 0.001s\n\nOK\n", Some("3 passed")),
            ("Ran 9 tests in 1.2s\n\nFAILED (failures=1, errors=2, skipped=2)\n", Some("3 failed, 4 passed")),
            ("Ran 4 tests in 1.2s\n\nOK (skipped=1, expected failures=1)\n", Some("2 passed")),
            ("Ran 0 tests in 0.000s\n\nOK\n", None),
            ("Ran away\n\nOK\n", None),
            ("running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored", None),
            ("ok 1 - a\nnot ok 2 - b # ok\nok 3\n1..3\n", Some("1 failed, 2 passed")),
            (
                "TAP version 13\n1..4\nok 1\n    ok 1 - inner\nok 2 # SKIP no disk\nnot ok 3 # TODO\n",
                Some("1 failed, 1 passed"),
            ),
            ("1..0 # SKIP nothing to do\n", None),
            ("okay\n1..\n", None),
            ("ok  \texample.org/a\t0.002s\n", None),
            ("Finished in 3 s", None),
            ("", None),
        ];
        for (output, expected) in cases {
            let said = TestSummary::of(output).map(TestSummary::words);
            assert_eq!(said.as_deref(), expected, "{output}");
        }
    }
}
