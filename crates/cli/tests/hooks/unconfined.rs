//! Holds that a command which a product runs as it is, so without a second wall, reads nothing closed: by whatever
//! name, through no folder, wildcard, link or variable. And that what reads open files is still answered.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{Session, session};

/// A project in which each closed thing can be reached in several ways.
fn project() -> Session {
    let session = session()
        .variable("COMPOSER_AUTH", "{\"token\":\"x7f9\"}")
        .variable("https_proxy", "http://ada:x7f9@proxy.example:3128");
    session
        .write("project/a.txt", "one\n")
        .write("project/b.txt", "two\n")
        .write("project/src/main.rs", "fn main() {}\n")
        .write("project/src/deep/lib.rs", "fn lib() {}\n")
        .write("project/docs/guide.md", "# guide\n")
        .write("project/links/plain.md", "# plain\n")
        .write("project/.env", "KEY=x7f9\n")
        .write("project/config/prod.pem", "x7f9\n")
        .write("project/config/app.toml", "a = 1\n")
        .write("project/private/notes.txt", "x7f9\n")
        .write("home/elsewhere/notes.txt", "x7f9\n")
        .write("project/other/x.txt", "x\n");
    let at = |path: &str| session.workspace().join(path);
    symlink("../../home/elsewhere/notes.txt", at("links/out.md")).unwrap();
    symlink("../../home/elsewhere", at("links/folder")).unwrap();
    symlink("../.env", at("links/inside.md")).unwrap();
    symlink("guide.md", at("docs/also.md")).unwrap();
    std::fs::hard_link(at(".env"), at("other/kept.txt")).unwrap();
    std::fs::hard_link(at("a.txt"), at("src/same.txt")).unwrap();
    session
}

fn with_repository() -> Session {
    let session = project();
    session.git(&["init", "-q"]);
    session.git(&["remote", "add", "origin", "https://ada:x7f9@example.org/x.git"]);
    session
}

/// The answer of the hook of a product that runs a command as it is.
fn is_answered(session: &Session, product: &str, command: &str) -> bool {
    let folder = session.workspace().canonicalize().unwrap();
    let input = json!({ "command": command });
    let message = match product {
        "cursor" => json!({
            "hook_event_name": "beforeShellExecution", "command": command, "cwd": folder, "workspace_roots": [folder],
        }),
        "copilot" => json!({ "cwd": folder, "toolName": "bash", "toolArgs": input.to_string() }),
        "qwen-code" => json!({
            "hook_event_name": "PermissionRequest", "cwd": folder, "permission_mode": "default",
            "tool_name": "run_shell_command", "tool_input": input,
        }),
        _ => json!({
            "hook_event_name": "PermissionRequest", "cwd": folder, "permission_mode": "default",
            "tool_name": "Bash", "tool_input": input,
        }),
    };
    let outcome = session.run_with_input(&["hook", product], message.to_string());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{product}: {command}: {outcome}");
    let answer = outcome.json().into_iter().next().unwrap_or(Value::Null).to_string();
    answer.contains("\"allow\"")
}

#[test]
fn what_a_closed_link_leads_to_is_read_by_no_name_of_its_own() {
    let session = project();
    session
        .write("project/shared/env.txt", "x7f9\n")
        .write("project/shared/open.txt", "x\n")
        .write("project/store/first", "x7f9\n")
        .write("project/.git/rr-cache/1f/preimage", "x7f9\n");
    let at = |path: &str| session.workspace().join(path);
    symlink("../shared/env.txt", at("src/.envrc")).unwrap();
    symlink("store", at(".ssh")).unwrap();
    let closed = [
        "cat shared/env.txt",
        "cat shared/e*",
        "grep -r x7 shared",
        "head -1 shared/*.txt",
        "cat store/first",
        "find store -type f -exec cat {} +",
        // Git keeps this without the name of a file.
        "cat .git/rr-cache/1f/preimage",
    ];
    assert_each(&session, &closed, false);
    assert_each(&session, &["cat shared/open.txt", "ls shared store", "cat a.txt docs/also.md"], true);
}

/// A file with a name elsewhere may be anybody's. Package managers, though, link what they unpack from a store.
#[test]
fn a_file_of_elsewhere_is_read_by_no_other_name_but_those_of_packages_are() {
    let session = project();
    session.write("home/.ssh/id_work", "x7f9\n").write("home/store/index.js", "x\n");
    let at = |path: &str| session.workspace().join(path);
    for folder in ["notes", "node_modules/p", ".venv/lib", "target/debug"] {
        std::fs::create_dir_all(at(folder)).unwrap();
    }
    let home = |path: &str| session.home().join(path);
    std::fs::hard_link(home(".ssh/id_work"), at("notes/plain.txt")).unwrap();
    for place in ["node_modules/p/index.js", ".venv/lib/index.js", "target/debug/index.js"] {
        std::fs::hard_link(home("store/index.js"), at(place)).unwrap();
    }
    assert_each(
        &session,
        &[
            "cat notes/plain.txt",
            "cat notes/*",
            "grep -r x7 notes",
            "head -1 notes/p*.txt",
            "for f in notes/*; do cat \"$f\"; done",
            "find notes -type f -exec cat {} +",
            "sort < notes/plain.txt",
            "cat a.txt notes/plain.txt",
        ],
        false,
    );
    assert_each(
        &session,
        &[
            "cat node_modules/p/index.js",
            "grep -n x node_modules/p/index.js",
            "cat .venv/lib/index.js target/debug/index.js",
            "cat a.txt src/same.txt",
            "ls -l notes",
            "cat src/*.rs",
        ],
        true,
    );
}

const PRODUCTS: [&str; 4] = ["codex", "copilot", "cursor", "qwen-code"];

/// Holds which of `commands` are answered, for one product after the other, so that each sees some of every kind.
fn assert_each(session: &Session, commands: &[&str], expected: bool) {
    let wrong: Vec<_> = commands
        .iter()
        .zip(PRODUCTS.iter().cycle())
        .filter(|(command, product)| is_answered(session, product, command) != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_name_leads_a_command_to_what_is_closed() {
    let session = project();
    for product in PRODUCTS {
        assert!(
            !is_answered(&session, product, "cat .e*") && is_answered(&session, product, "cat a.txt"),
            "{product}"
        );
    }
    let attacks = [
        "cat .en?",
        "cat .[e]nv",
        "cat ./.e*",
        "head -1 .[a-z]*",
        "sort -u config/*",
        "awk 1 config/prod.*",
        "sed -n p config/*.p?m",
        "grep -r KEY .",
        "grep -rn x7f9",
        "grep -r KEY *",
        "rg KEY",
        "rg --hidden KEY",
        "find . -exec cat {} +",
        "find . -type f -exec grep -H KEY {} \\;",
        "find . -name '.e*' -exec head -1 {} +",
        "find config -type f -exec cat {} +",
        "find . -name '.e*' | xargs cat",
        "ls -A | xargs head -2",
        "for f in .*; do cat \"$f\"; done",
        "for f in *; do cat $f; done",
        "for f in $(ls -A); do cat \"$f\"; done",
        "ls -A | while read f; do cat \"$f\"; done",
        "for d in config src; do cat \"$d\"/*; done",
        "for f in config/*; do wc \"$f\"; done",
        "cd config && cat *",
        "shopt -s dotglob; cat *",
        "tar cf - . | wc -c",
        "diff -r config src",
        "while read line; do echo \"$line\"; done < links/inside.md",
        "cat other/kept.txt",
        "cat other/k*.txt",
        "grep -c KEY other/kept.txt a.txt",
        "grep -r KEY other",
    ];
    assert_each(&session, &attacks, false);
    session.write("home/.config/headstart/config.toml", "deny = ['private/notes.txt']");
    assert_each(&session, &["cat private/n*", "cat private/*", "grep -r x private", "head -1 p*/n*"], false);
}

#[test]
fn no_link_leads_a_command_out() {
    let session = project();
    let attacks = [
        "cat links/out.md",
        "cat links/*.md",
        "cat links/inside.md",
        "cat links/folder/notes.txt",
        "cat links/folder/*",
        "cat links/*/notes.txt",
        "ls links/folder",
        "ls links/folder/",
        "ls links/*",
        "ls -l links/folder/notes.txt",
        "echo links/folder/*",
        "echo links/*/*",
        "find links/folder/ -type f",
        "grep -r x7f9 links/folder",
        "wc -c links/folder/notes.txt",
        "diff a.txt links/out.md",
        "for f in links/*; do cat \"$f\"; done",
        "find links -exec cat {} +",
        "ls links | while read f; do cat \"links/$f\"; done",
        "test -s links/folder/notes.txt && echo there",
        "cat < links/out.md",
        "cd links/folder && ls",
    ];
    assert_each(&session, &attacks, false);
}

#[test]
fn what_never_ends_is_not_read() {
    let session = project();
    for pipe in ["pipe", "docs/pipe", "src/deep/pipe"] {
        let at = session.workspace().join(pipe);
        rustix::fs::mkfifoat(rustix::fs::CWD, at, rustix::fs::Mode::RWXU).unwrap();
    }
    symlink("/dev/zero", session.workspace().join("links/zero.md")).unwrap();
    let attacks = [
        "cat pipe",
        "head -1 p*",
        "cat docs/*",
        "while read -r line; do echo \"$line\"; done < pipe",
        "find src -type p -exec cat {} +",
        "cat links/zero.md",
        "sort src/deep/pipe a.txt",
        "for f in docs/*; do wc -l \"$f\"; done",
    ];
    assert_each(&session, &attacks, false);
    assert_each(&session, &["ls -l pipe docs", "cat docs/guide.md", "find . -type p"], true);
}

#[test]
fn no_variable_of_the_products_shell_is_shown() {
    let session = project();
    let attacks = [
        "echo $COMPOSER_AUTH",
        "echo $https_proxy",
        "echo \"${https_proxy}\"",
        "echo ${no_proxy:-none}",
        "printf '%s\\n' \"$COMPOSER_AUTH\"",
        "x=$all_proxy; echo \"$x\"",
        "echo $((ftp_proxy))",
        "[ \"$https_proxy\" = x ] && echo same",
        "for i in $https_proxy; do echo \"$i\"; done",
        "false && https_proxy=; echo $https_proxy",
        "if [ -f a.txt ]; then no_proxy=x; fi; echo $no_proxy",
        "https_proxy+=x; echo $https_proxy",
        "no_proxy+=x; echo $no_proxy",
        "for no_proxy in *.none; do :; done; echo $no_proxy",
        "cat <<< \"$https_proxy\"",
        "grep -c \"$https_proxy\" a.txt",
        "case $https_proxy in http*) echo yes;; esac",
        "echo ${#https_proxy}",
        "read https_proxy < missing; echo $https_proxy",
        "awk 'BEGIN{print ENVIRON[\"https_proxy\"]}'",
        "jq -n env.https_proxy",
        "jq -n '$ENV'",
        "printenv https_proxy",
        "env",
        "declare -p",
        "echo ${!h*}",
    ];
    assert_each(&session, &attacks, false);
}

#[test]
fn a_token_in_the_address_of_a_remote_is_closed() {
    let session = with_repository();
    let attacks = ["cat .git/c*", "grep -r url .git", "grep -rn url src .git", "head -20 .git/config"];
    assert_each(&session, &attacks, false);
    session.git(&["remote", "set-url", "origin", "https://example.org/x.git"]);
    assert_each(&session, &["cat .git/HEAD", "grep -r url .git", "cat .git/c*"], true);
}

#[test]
fn what_git_keeps_is_closed_where_a_rule_covers_some_of_it() {
    let session = with_repository();
    session.git(&["add", "a.txt", "private"]);
    session.git(&["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "first"]);
    session.git(&["clone", "-q", "--bare", ".", "copy"]);
    let attacks = [
        "{ printf '\\x1f\\x8b\\x08'; tail -c +3 .git/objects/*/*; } | gzip -dc",
        "base64 .git/objects/pack/*",
        "find .git -type f -exec base64 {} +",
        "find copy -type f -exec base64 {} +",
        "cat .git/obj*/*/*",
        "grep -rc . copy",
        "cd copy && base64 objects/*/*",
        "git diff --no-index --text /dev/null .git/objects/pack",
    ];
    session.write("home/.config/headstart/config.toml", "deny = ['/private/']\n");
    let object = session.git(&["rev-parse", "HEAD:private/notes.txt"]);
    let object = format!(".git/objects/{}/{}", &object[..2], object[2..].trim());
    let at = |path: &str| session.workspace().join(path);
    std::fs::hard_link(at(&object), at("docs/notes.bin")).unwrap();
    assert_each(&session, &attacks, false);
    assert_each(&session, &["cat docs/notes.bin", "grep -c x docs/notes.bin"], false);
    let honest =
        ["cat .git/HEAD", "cat a.txt", "grep -rn main src", "ls .git/objects", "find . -name '*.rs'"];
    assert_each(&session, &honest, true);
}

#[test]
fn what_reads_open_files_is_answered() {
    let session = project();
    let honest = [
        "ls",
        "ls -la",
        "ls -la src docs",
        "cat a.txt b.txt",
        "cat *.txt | sort | head -3",
        "head -2 [ab].txt",
        "wc -l src/*.rs",
        "grep -n fn src/*/*.rs",
        "cat docs/*.md",
        "cat links/plain.md",
        "grep -rn main src",
        "rg main src",
        "find . -name '*.rs'",
        "find src -name '*.rs' -exec wc -l {} +",
        "for f in src/*.rs; do echo \"$f\"; head -1 \"$f\"; done",
        "cd src && grep -rn lib .",
        "echo $HOME $PWD $USER",
        "x=1; echo $((x + 1))",
        "n=$(wc -l < a.txt); echo \"$n lines\"",
        "while read -r line; do echo \"$line\"; done < a.txt",
        "cat src/same.txt",
        "cat config/app.toml",
        "sed -n 1,5p src/main.rs",
        "ls config links",
        "test -f a.txt && echo there",
    ];
    // What is read of a text with `.*` or in a loop over `*` is looked up on disk as well.
    assert_each(&session, &honest, true);
    assert_each(&session, &["cat *.md", "for f in *.toml; do cat \"$f\"; done"], true);
}
