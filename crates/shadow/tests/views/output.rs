//! Build output is not read back even if no `.gitignore` names it. A folder of the user's own is read back, whatever
//! its name.

use std::path::PathBuf;
use std::process;

use headstart_overlay_fs::Quota;
use headstart_shadow::{Command, NotStagedReason, Options, ReadBack, ReadRules, View};

use crate::place::{PATIENCE, Place, Test, lines, ok, path};

pub(crate) const TESTS: &[Test] = &[
    ("a_crate_without_a_gitignore_is_built", a_crate_without_a_gitignore),
    ("caches_of_python_and_node_are_left_out", caches_of_python_and_node),
    ("a_folder_that_git_tracks_is_read_whatever_its_name", tracked_folders),
    ("a_folder_of_the_users_own_is_read_before_git_tracks_anything", folders_of_the_users_own),
    ("what_is_shown_or_kept_of_build_output_comes_back", shown_and_kept),
];

pub(crate) fn sysroot() -> PathBuf {
    let output = process::Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.unwrap_or_else(|error| panic!("this test needs rustc: {error}"));
    String::from_utf8(output.stdout).unwrap().trim().into()
}

pub(crate) fn git(place: &Place, words: &[&str]) {
    let status = process::Command::new("git").current_dir(place.work()).args(words).status();
    assert!(status.unwrap_or_else(|error| panic!("this test needs git: {error}")).success(), "{words:?}");
    place.settle();
}

fn ignored(back: &ReadBack) -> Vec<String> {
    back.ignored.iter().map(ToString::to_string).collect()
}

/// Cargo gives its executables a second name by a hard link, which a change set cannot express, so the folder of build
/// output must be left out.
fn a_crate_without_a_gitignore() {
    let manifest = "[package]\nname = \"value\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let test = "#[test]\nfn it_holds() {}\n";
    let build = Command::shell("cargo test -q --offline", PATIENCE)
        .with_variable("PATH", format!("{}/bin:/usr/bin:/bin", sysroot().display()));
    for is_repository in [false, true] {
        let place =
            Place::with(&[("Cargo.toml", manifest), ("src/lib.rs", test), ("src/main.rs", "fn main() {}")]);
        if is_repository {
            git(&place, &["init", "-q"]);
        }
        // Once without earlier build output, and once over what the user built.
        for is_built in [false, true] {
            let options = Options { show: vec![sysroot()], ..place.options() };
            let mut view = View::start(&options).unwrap();
            let output = view.run(&build).unwrap();
            assert!(output.end.is_success(), "{}", String::from_utf8_lossy(&output.stdout));
            let back = place.read_back(&mut view);
            assert_eq!(ignored(&back), ["target"]);
            let made: Vec<_> = back.changes.changes.iter().map(|change| change.path.to_string()).collect();
            assert_eq!(made, if is_built { vec![] } else { vec!["Cargo.lock"] });
            if is_built {
                ok(&mut view, "rm -rf target");
                assert!(place.read_back(&mut view).changes.is_empty());
                continue;
            }
            let status = process::Command::new("cargo")
                .args(["test", "-q", "--offline"])
                .env_remove("CARGO_TARGET_DIR")
                .stdout(process::Stdio::null())
                .current_dir(place.work())
                .status();
            assert!(status.unwrap().success());
            place.settle();
        }
    }
}

fn caches_of_python_and_node() {
    let place = Place::with(&[
        ("src/deep/er/package/__init__.py", ""),
        ("package.json", "{\"scripts\": {\"test\": \"node test.js\"}}"),
        ("packages/one/app/node_modules/x/index.js", "1"),
    ]);
    let mut view = place.view();
    ok(
        &mut view,
        "mkdir -p src/deep/er/package/__pycache__ .pytest_cache/v node_modules/.cache && echo x > src/deep/er/package/__pycache__/a.pyc && \
         echo x > .pytest_cache/v/x && echo x > node_modules/.cache/x && ln node_modules/.cache/x node_modules/.cache/y && \
         echo 2 > packages/one/app/node_modules/x/index.js && echo kept > result.txt",
    );
    let back = place.read_back(&mut view);
    assert_eq!(lines(&back.changes), ["write result.txt - \"kept\\n\", was nothing"]);
    assert_eq!(
        ignored(&back),
        [".pytest_cache", "node_modules", "packages/one/app/node_modules", "src/deep/er/package/__pycache__"]
    );
    assert!(back.not_staged.is_empty());
}

fn tracked_folders() {
    let place = Place::with(&[
        ("package.json", "{}"),
        ("dist/index.js", "1"),
        ("node_modules/ours/index.js", "1"),
        ("app/package.json", "{}"),
        ("a", ""),
    ]);
    git(&place, &["init", "-q"]);
    git(&place, &["add", "."]);
    let mut view = place.view();
    ok(
        &mut view,
        "echo 2 > dist/index.js && rm -r node_modules && mkdir -p build app/dist && echo x > build/x && echo x > app/dist/x",
    );
    let back = place.read_back(&mut view);
    let mut changed: Vec<_> = back.changes.changes.iter().map(|change| change.path.to_string()).collect();
    changed.sort();
    assert_eq!(changed, ["dist/index.js", "node_modules", "node_modules/ours", "node_modules/ours/index.js"]);
    assert_eq!(ignored(&back), ["app/dist", "build"]);
    // Folders whose names users give as well are reported, so that nothing is left out silently.
    let told: Vec<_> = back.not_staged.iter().map(|left| (left.path.to_string(), left.why)).collect();
    assert_eq!(
        told,
        [
            ("app/dist".to_owned(), NotStagedReason::BuildOutput),
            ("build".to_owned(), NotStagedReason::BuildOutput)
        ]
    );
}

fn folders_of_the_users_own() {
    // Nothing shows that `target`, `out` and `dist` belong to a tool, and `build` already existed.
    let place = Place::with(&[("build/setup.js", "1"), ("package.json", "{}"), ("sub/x", "")]);
    let mut view = place.view();
    ok(
        &mut view,
        "mkdir target sub/dist && echo x > target/x && echo x > sub/dist/x && echo 2 > build/setup.js",
    );
    let back = place.read_back(&mut view);
    let mut changed: Vec<_> = back.changes.changes.iter().map(|change| change.path.to_string()).collect();
    changed.sort();
    assert_eq!(changed, ["build/setup.js", "sub/dist", "sub/dist/x", "target", "target/x"]);
    assert!(back.ignored.is_empty());
    // A tool's own mark in the folder shows that it is build output.
    let mut view = place.view();
    ok(&mut view, "echo 'Signature: 8a477f597d28d172789f06886806bc55' > build/CACHEDIR.TAG");
    assert_eq!(ignored(&place.read_back(&mut view)), ["build"]);
    // A pattern in `.gitignore` that includes the folder again is the user's decision, so the folder is read.
    ok(&mut view, "echo '!build' > .gitignore");
    assert!(place.read_back(&mut view).ignored.is_empty());
}

fn shown_and_kept() {
    let place = Place::with(&[("package.json", "{}")]);
    let staged =
        place.staged(async |overlay| overlay.write(&path("dist/page.html"), b"1".to_vec()).await.unwrap());
    let mut view = place.view();
    view.show(&staged).unwrap();
    ok(
        &mut view,
        "echo 2 > dist/page.html; echo x > dist/other; mkdir -p gen node_modules; echo x > gen/x; echo x > node_modules/x",
    );
    let rules = ReadRules {
        build: vec![path("gen")],
        keep: vec![path("node_modules")],
        ..ReadRules::new(Quota::default())
    };
    let back = view.read_back(&place.tree(), &rules).unwrap();
    let changed: Vec<_> = back.changes.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(changed, ["dist/page.html", "node_modules", "node_modules/x"]);
    assert_eq!(ignored(&back), ["gen"]);
}
