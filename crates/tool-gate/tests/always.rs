//! A yes to "always" counts for the exact words in that folder. Each pair is what was agreed to and what a model then
//! tries.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use headstart_tool_gate::{
    ApprovalMode, CallRef, Decision, Gate, GateContext, SessionRule, StandingConsent, ToolPolicies, ToolTable,
};
use serde_json::{Map, Value, json};

fn context() -> GateContext {
    let tool_policies = ToolPolicies::new(ToolTable::default(), ToolTable::default(), &[]).unwrap();
    GateContext { mode: ApprovalMode::Default, workspace: "/w".into(), tool_policies, ..support::context() }
}

fn args(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn shell(command: &str) -> Value {
    json!({ "command": command })
}

fn offered(name: &str, asked: &Value, context: &GateContext) -> Option<SessionRule> {
    let args = args(asked);
    let call = CallRef { name, args: &args };
    SessionRule::of(call, &Gate::new().judge(call, context), context)
}

/// The context in which the user has said "always" to a call.
fn agreed(name: &str, asked: &Value) -> GateContext {
    let plain = context();
    let rule = offered(name, asked, &plain).unwrap_or_else(|| panic!("nothing is offered: {name} {asked}"));
    GateContext { tool_policies: plain.tool_policies.with_session_rule(&rule), ..plain }
}

/// Whether a turn runs a call without a question that it would ask otherwise.
fn runs_unasked(name: &str, tried: &Value, context: &GateContext) -> bool {
    let args = args(tried);
    let call = CallRef { name, args: &args };
    let verdict = Gate::new().judge(call, context);
    verdict.decision == Decision::Boundary
        && Gate::new().standing_consent(&verdict, call, context) == StandingConsent::Yes
}

#[test]
fn a_yes_to_words_counts_for_these_words_in_this_folder() {
    let make = json!({ "command": "make test", "directory": "web" });
    let same: [(Value, Value); 10] = [
        (shell("make test"), shell("make test")),
        (shell("make test"), shell("  make   test ")),
        (shell("make test"), shell("'make' \"test\" 2>&1")),
        (shell("make test"), shell("make te\\st > /dev/null")),
        (shell("make test"), shell("make $'test'  # $(id)")),
        (shell("make test"), shell("make test; make test")),
        (shell("make test"), json!({ "cmd": "make test", "cwd": "/w" })),
        (shell("make test"), json!({ "command": "make test", "is_background": false })),
        (make.clone(), json!({ "command": "make test", "workdir": "./web/" })),
        (make, json!({ "command": "make test", "directory": "/w/src/../web" })),
    ];
    for (asked, tried) in &same {
        assert!(runs_unasked("shell", tried, &agreed("shell", asked)), "{asked}, then {tried}");
    }
}

/// What was agreed to, and what is tried then.
const AROUND: &str = r"make test => make test -C vendor
make test => make -C vendor test
make test => make -Cvendor test
make test => make --directory=vendor test
make test => make -f evil.mk test
make test => make --file=evil.mk test
make test => make -I vendor test
make test => make test CC=vendor/cc
make test => make CC=vendor/cc test
make test => make SHELL=/w/evil test
make test => make --eval='$(shell id)' test
make test => make -e test
make test => make test test
make test => make
make test => make tests
make test => make Test
make test => MAKE test
make test => ./make test
make test => vendor/make test
make test => /usr/bin/make test
make test => CC=evil make test
make test => PATH=vendor make test
make test => PATH=vendor; make test
make test => MAKEFLAGS=-Cvendor make test
make test => export MAKEFILES=evil.mk; make test
make test => env make test
make test => env CC=evil make test
make test => env -C vendor make test
make test => xargs make test
make test => echo vendor | xargs make test
make test => nice make test
make test => timeout 5 make test
make test => nohup make test
make test => setsid make test
make test => sudo make test
make test => time make test
make test => exec make test
make test => command make test
make test => builtin make test
make test => sh -c 'make test'
make test => bash -c 'make test; id'
make test => eval make test
make test => eval 'make test'
make test => cd vendor && make test
make test => cd vendor; make test
make test => (cd vendor && make test)
make test => { cd vendor; make test; }
make test => pushd vendor && make test
make test => make test && touch made
make test => make test || touch made
make test => make test; touch made
make test => touch made; make test
make test => make test & touch made
make test => make test &
make test => make test | tee log
make test => make test | sh
make test => make test | make test
make test => cat evil | make test
make test => make test > out
make test => make test >> Makefile
make test => make test 2> out
make test => make test >& out
make test => make test &> out
make test => make test >| out
make test => make test <> out
make test => make test < evil
make test => make test <<< evil
make test => make test $(id)
make test => make $(echo test)
make test => make `echo test`
make test => make $x
make test => make te?t
make test => make tes*
make test => make {test,evil}
make test => make test{,evil}
make test => make ~
make test => make() { touch made; }; make test
make test => function make { touch made; }; make test
make test => alias make=vendor/make; make test
make test => hash -p vendor/make make; make test
make test => enable -f vendor/x.so make; make test
make test => trap 'touch made' EXIT; make test
make test => set -a; CC=evil; make test
make test => IFS=t; make test
make test => if make test; then touch made; fi
make test => while make test; do touch made; done
make test => for x in 1; do make test; done
make test => case x in x) make test;; esac
make test => coproc make test
make test => make test <(touch made)
make test => ! make test | touch made
make test => . ./evil; make test
make test => source evil && make test
cargo test => cargo test --config build.rustc-wrapper=vendor/x
cargo test => cargo --config build.rustc-wrapper=vendor/x test
cargo test => cargo test --manifest-path vendor/Cargo.toml
cargo test => cargo +nightly test
cargo test => cargo -C vendor test
cargo test => cargo test -Zscript
cargo test => cargo test --no-run
cargo test => cargo test -- --nocapture
cargo test => RUSTC_WRAPPER=vendor/x cargo test
cargo test => cargo run
npm run build => npm run build --script-shell vendor/sh
npm run build => npm run build --prefix vendor
npm run build => npm run build -- --evil
npm run build => npm run buildx
npm run build => npm run
npm run build => npm_config_script_shell=vendor/sh npm run build
npm test => npm test -w vendor
go test => go test -exec vendor/x
go test => go test -toolexec vendor/x
go test => go test ./vendor/...
pytest -q => pytest -q -p vendor.plugin
pytest -q => pytest -q vendor
pytest -q => PYTHONPATH=vendor pytest -q
touch made => touch made other
touch made => touch -r other made
touch made => touch .envrc";

#[test]
fn a_yes_to_words_counts_for_nothing_around_them() {
    let mut count = 0;
    for pair in AROUND.lines() {
        let (asked, tried) = pair.trim().split_once(" => ").unwrap();
        let agreed = agreed("shell", &shell(asked));
        assert!(!runs_unasked("shell", &shell(tried), &agreed), "{asked}, then {tried}");
        count += 1;
    }
    assert!(110 <= count, "{count}");
    let documents = [
        "make test <<E\nx\nE",
        "make test <<'E'\n$(id)\nE",
        "make test\ntouch made",
        "make test\\\nx",
        "make test\u{a0}x",
        "make test\u{200b}",
        "ma\u{2006}ke test",
        "make tеst",
        "make test\0",
        "make test \u{202e}",
    ];
    for tried in documents {
        let agreed = agreed("shell", &shell("make test"));
        assert!(!runs_unasked("shell", &shell(tried), &agreed), "make test, then {tried:?}");
    }
}

/// What stands beside the words of a call is part of what was agreed to.
#[test]
fn a_yes_to_words_counts_for_no_other_call_with_them() {
    let here = shell("make test");
    let there = json!({ "command": "make test", "directory": "web" });
    let tried = [
        (&here, "shell", json!({ "command": "make test", "directory": "vendor" })),
        (&here, "shell", json!({ "command": "make test", "directory": "../w2" })),
        (&here, "shell", json!({ "command": "make test", "cwd": "vendor" })),
        (&here, "shell", json!({ "command": "make test", "workdir": "vendor" })),
        (&here, "shell", json!({ "command": "make test", "dir_path": "vendor" })),
        (&here, "shell", json!({ "command": "make test", "directory": ".", "cwd": "vendor" })),
        (&here, "shell", json!({ "command": "make test", "directory": ["vendor"] })),
        (&here, "shell", json!({ "command": "make test", "cmd": "touch made" })),
        (&here, "shell", json!({ "command": ["make test"] })),
        (&here, "shell", json!({ "command": "make test", "is_background": true })),
        (&here, "shell", json!({ "command": "make test", "run_in_background": "yes" })),
        (&here, "run_in_background", shell("make test")),
        (&here, "mcp__x__shell", shell("make test")),
        (&there, "shell", shell("make test")),
        (&there, "shell", json!({ "command": "make test", "directory": "web/deep" })),
        (&there, "shell", json!({ "command": "make test", "directory": "web/.." })),
        (&there, "shell", json!({ "command": "make test", "directory": "Web" })),
        (&there, "shell", json!({ "command": "make test", "directory": "*" })),
    ];
    for (asked, name, tried) in &tried {
        assert!(!runs_unasked(name, tried, &agreed("shell", asked)), "{asked}, then {name} {tried}");
    }
}

/// No "always" is offered for programs that run what they are given, nor for options that hand one something to run, and
/// none where the words lead out of the workspace.
#[test]
fn what_runs_what_it_is_given_has_no_always() {
    let commands = "env make; xargs make; nice make; timeout 5 make; nohup make; setsid make; time make; \
        git -c core.pager=evil log; git -c alias.x=!evil x; git commit -m x; npx thing; uvx thing; rustup run stable make; \
        hyperfine make; perf stat make; firejail make; bwrap make; fakeroot make; faketime now make; setarch -R make; \
        prlimit make; chrt 1 make; numactl make; setpriv make; ssh-agent make; xvfb-run make; dbus-run-session make; \
        cross-env make; nodemon x.js; concurrently make; volta run make; asdf exec make; rbenv exec make; pyenv exec make; \
        pre-commit run; bazel run x; lerna exec make; nx run x; turbo run x; \
        declare -x made; export made; enable made; hash made; umask 000; let made; readonly made; unset made; \
        shred made; truncate -s 0 made; unlink made; xdg-open made; open made; aws s3 ls; gcloud info; \
        make --file=evil.mk; make -f evil.mk; make --include-dir=vendor; make -Ivendor; make SHELL=x; \
        cmake -P evil.cmake; cmake -DCMAKE_C_COMPILER=vendor/cc .; cmake -D CMAKE_C_COMPILER=vendor/cc .; \
        mvn -Dexec.executable=x test; gradle -Pevil=x test; gradle --init-script x test; \
        go vet -vettool=vendor/x; go test -exec x; go build -overlay x.json; mocha -r evil.js; mocha --require evil.js; \
        mocha --reporter evil.js; jest --setupFilesAfterEnv evil.js; jest --transform evil.js; eslint --parser evil.js; \
        eslint --rulesdir vendor; eslint --format evil.js; pytest -p evil; pytest --rootdir vendor; rspec -r evil; \
        cargo build --target evil.json; cargo build --target-dir vendor; cargo test --lockfile-path vendor/Cargo.lock; \
        just --justfile vendor/justfile; just --dotenv-path vendor/x; gcc -wrapper evil x.c; gcc -B vendor x.c; \
        gcc -specs=evil x.c; gcc -o/etc/passwd x.c; gcc -o../x x.c; tsc --outDir=../x; ld -o../x x.o";
    let context = context();
    let mut count = 0;
    for command in commands.split("; ") {
        let rule = offered("shell", &shell(command), &context);
        assert_eq!(rule.map(|rule| rule.to_string()), None, "{command}");
        count += 1;
    }
    assert!(85 <= count, "{count}");
    for call in [
        json!({ "command": "make test", "is_background": true }),
        json!({ "command": "make test", "run_in_background": true }),
        json!({ "command": "make test", "directory": "../other" }),
        json!({ "command": "make test", "directory": "/etc" }),
        json!({ "command": "make test", "directory": "we*" }),
    ] {
        assert_eq!(offered("shell", &call, &context), None, "{call}");
    }
    // What people do say it to stays.
    for command in [
        "cargo build --profile release",
        "cargo test --workspace --all-features",
        "cargo clippy --all-targets -- -D warnings",
        "cargo fmt --all",
        "npm run build",
        "npm test",
        "pytest -q tests/unit",
        "go test ./...",
        "make -j4 test",
        "tsc --noEmit",
        "eslint --fix src",
        "mkdir -p web/app",
    ] {
        assert!(offered("shell", &shell(command), &context).is_some(), "{command}");
    }
}

#[test]
fn a_yes_to_edits_counts_in_that_folder_and_for_no_rule_that_asks() {
    let edit = |path: &str| json!({ "file_path": path, "old_string": "a", "new_string": "b" });
    for (asked, path, expected) in [
        ("src/a.rs", "src/b.rs", true),
        ("src/a.rs", "src/deep/b.rs", true),
        ("src/a.rs", "/w/src/b.rs", true),
        ("src/a.rs", "srcs/b.rs", false),
        ("src/a.rs", "SRC/b.rs", false),
        ("src/a.rs", "vendor/src/b.rs", false),
        ("src/a.rs", "src", false),
        ("src/a.rs", "src/../b.rs", false),
        ("src/a.rs", "src/../../b.rs", false),
        ("src/a.rs", "/etc/passwd", false),
        ("src/a.rs", "src/.env", false),
        ("src/a.rs", "src/.git/config", false),
        ("src/a.rs", "src/.cargo/config.toml", false),
        ("src/a.rs", "src/.CARGO/config.toml", false),
        ("src/a.rs", "src/.vscode/tasks.json", false),
        ("src/a.rs", "src/.husky/pre-commit", false),
        ("src/a.rs", "src/CLAUDE.md", false),
        ("src/a.rs", "src/.headstart/config.toml", false),
        ("a.rs", "b.rs", true),
        ("a.rs", "src/b.rs", false),
        ("a.rs", ".envrc", false),
        ("a.rs", ".gitmodules", false),
    ] {
        let agreed = agreed("edit", &edit(asked));
        assert_eq!(runs_unasked("edit", &edit(path), &agreed), expected, "{asked}, then {path}");
        let write = json!({ "file_path": path, "content": "x" });
        assert_eq!(runs_unasked("write_file", &write, &agreed), expected, "{asked}, then a write of {path}");
    }
    // Words of one kind of call answer for none of the other.
    assert!(!runs_unasked("shell", &shell("touch src/b.rs"), &agreed("edit", &edit("src/a.rs"))));
    assert!(!runs_unasked("edit", &edit("made"), &agreed("shell", &shell("touch made"))));
    // Nor does a path that is given twice.
    let twice = json!({ "file_path": "src/b.rs", "path": ".envrc", "old_string": "a", "new_string": "b" });
    assert!(!runs_unasked("edit", &twice, &agreed("edit", &edit("src/a.rs"))));
}
