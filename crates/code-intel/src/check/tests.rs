use super::*;

const ROOT: &str = "/home/ada/project";

fn read(format: CheckFormat, stdout: &str, stderr: &str) -> String {
    let diagnostics = format.read(stdout, stderr, ROOT, &WorkspacePath::root()).unwrap();
    diagnostics.iter().map(|one| one.line_for_model() + "\n").collect()
}

#[test]
fn the_error_of_the_parser_is_below_that_of_the_check() {
    let error = CheckFormat::Ruff.read("[{", "", ROOT, &WorkspacePath::root()).unwrap_err();
    let below = std::error::Error::source(&error).and_then(|below| below.downcast_ref::<serde_json::Error>());
    assert!(below.is_some_and(serde_json::Error::is_eof), "{error:?}");
}

#[test]
fn cargo() {
    insta::assert_snapshot!(read(
        CheckFormat::Cargo,
        include_str!("../../tests/fixtures/check/cargo.json"),
        ""
    ));
}

#[test]
fn tsc() {
    insta::assert_snapshot!(read(CheckFormat::Tsc, include_str!("../../tests/fixtures/check/tsc.txt"), ""));
}

#[test]
fn pyright() {
    insta::assert_snapshot!(read(
        CheckFormat::Pyright,
        include_str!("../../tests/fixtures/check/pyright.json"),
        ""
    ));
}

#[test]
fn ruff() {
    insta::assert_snapshot!(read(
        CheckFormat::Ruff,
        include_str!("../../tests/fixtures/check/ruff.json"),
        ""
    ));
}

#[test]
fn go_vet() {
    insta::assert_snapshot!(read(
        CheckFormat::GoVet,
        "",
        include_str!("../../tests/fixtures/check/go-vet.txt")
    ));
}

/// A checker may print other lines and report files outside the workspace. Both are left out.
#[test]
fn files_outside_and_other_output_are_left_out() {
    let outside = "/usr/lib/a.ts(1,1): error TS1: m\n../b.ts(1,1): error TS1: m\n  rest\nFound 2 errors.\n";
    assert_eq!(read(CheckFormat::Tsc, outside, ""), "");
    let folder = WorkspacePath::parse("web").unwrap();
    let inner = CheckFormat::Tsc.read("a(1).ts(3,4): error TS1: a(b): c\n", "", ROOT, &folder).unwrap();
    assert_eq!(inner[0].line_for_model(), "web/a(1).ts:3:4: error TS1: a(b): c");
}

/// If the output is not that of the checker at all, this is an error, because it does not mean that nothing was found.
#[test]
fn what_is_something_else_is_an_error() {
    let cases = [
        (CheckFormat::Cargo, "{\"reason\":1}", ""),
        (CheckFormat::Pyright, "No configuration file found.", ""),
        (CheckFormat::Ruff, "", ""),
        (CheckFormat::GoVet, "", "{\n\t\"a\": {\n"),
    ];
    for (format, stdout, stderr) in cases {
        let error = format.read(stdout, stderr, ROOT, &WorkspacePath::root()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the output is not that of {format:?}: ")), "{error}");
    }
}
