//! Compilers and linters that are no servers, and abilities that only some servers have.

use std::time::{Duration, Instant};

use headstart_code_intel::{Adapter, DiagnosticsSource, Settings, Severity, Snapshot, SymbolPosition};
use headstart_overlay_fs::Tree as _;

use crate::story::errors;
use crate::support::{TestProject, path, require};

/// Runs a checker over the unchanged project and over an edit. The edit must have exactly these new errors, and the one
/// old error of the project.
fn check(server: &str, program: &str, files: &[(&str, &str)], edit: (&str, &str), new: &[&str]) {
    require(program);
    let mut settings = Settings { mode: DiagnosticsSource::Checks, ..Settings::default() };
    settings.adapters.retain(|adapter| adapter.name == server);
    let world = TestProject::new(files, settings);
    let snapshot = Snapshot::of(world.staged(&[(edit.0, Some(edit.1))]));
    for round in ["cold", "again"] {
        let asked = Instant::now();
        let delta = async_io::block_on(world.intel.diagnostics(&snapshot, &[], Severity::Hint)).unwrap();
        println!("{program}: {round} {:?}", asked.elapsed());
        assert_eq!(errors(&delta), new, "{program}: {delta:#?}");
        assert_eq!((delta.old_count, delta.gone_count), (1, 0), "{program}: {delta:#?}");
    }
}

const MANIFEST: &str =
    "[package]\nname = \"checked\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

#[test]
fn cargo() {
    let old = "fn unused() {}\nfn main() {}\n";
    let files = [("Cargo.toml", MANIFEST), ("src/main.rs", old)];
    let edit = "// a line\nfn unused() {}\nfn main() {\n    let more = 1;\n}\n";
    check("rust-analyzer", "cargo", &files, ("src/main.rs", edit), &["src/main.rs:4"]);
}

#[test]
#[ignore = "needs tsc; `.ci/long` runs it"]
fn tsc() {
    let files = [
        (
            "tsconfig.json",
            "{\"compilerOptions\": {\"strict\": true, \"types\": []}, \"include\": [\"src\"]}\n",
        ),
        ("src/main.ts", "export const old: string = 1;\n"),
    ];
    let edit = "export const one = \"👩‍💻\";\nexport const old: string = 1;\nexport const bad: number = one;\n";
    check("typescript-language-server", "tsc", &files, ("src/main.ts", edit), &["src/main.ts:3"]);
}

#[test]
#[ignore = "needs ruff and go; `.ci/long` runs it"]
fn others() {
    let python = [("main.py", "old: int = \"x\"\n")];
    let edit = ("main.py", "# a line\nold: int = \"x\"\nnew: str = 1\n");
    check("pyright", "pyright", &python, edit, &["main.py:3"]);
    let ruff = [("main.py", "import os\n")];
    check("ruff", "ruff", &ruff, ("main.py", "# a line\nimport os\n\nprint(nothing)\n"), &["main.py:4"]);
    let main = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Printf(\"%d\\n\", \"old\")\n}\n";
    let go = [("go.mod", "module example.com/checked\n\ngo 1.18\n"), ("main.go", main)];
    let edited = main.replace("}\n", "\tfmt.Printf(\"%d\\n\", \"new\")\n}\n");
    check("gopls", "go", &go, ("main.go", &edited), &["main.go:7"]);
}

/// The findings of a linter are reported along with those of the language server, and the linter's fix is staged.
#[test]
#[ignore = "needs ruff; `.ci/long` runs it"]
fn a_linter_beside_a_language_server() {
    require("ruff");
    require("pyright-langserver");
    let mut settings = Settings { request_timeout: Duration::from_secs(60), ..Settings::default() };
    settings.adapters.retain(|adapter| ["ruff", "pyright"].contains(&adapter.name.as_str()));
    let world = TestProject::new(&[("main.py", "one = 1\n")], settings);
    world.ready("main.py");
    let snapshot = Snapshot::of(world.staged(&[("main.py", Some("import os\n\none: str = 1\n"))]));
    let delta = async_io::block_on(world.intel.diagnostics(&snapshot, &[], Severity::Warning)).unwrap();
    let said: Vec<_> =
        delta.new.iter().map(|one| (one.line, one.source.as_deref().unwrap_or_default())).collect();
    assert_eq!(said, [(3, "Pyright"), (1, "Ruff")], "{delta:#?}");
}

fn fix(
    adapter: &str,
    files: &[(&str, &str)],
    edit: (&str, &str),
    at: (usize, &str),
    (title, fixed): (&str, &str),
    compiler: &[&str],
) {
    let mut settings = Settings { request_timeout: Duration::from_secs(60), ..Settings::default() };
    settings.adapters.retain(|known: &Adapter| known.name == adapter);
    require(&settings.adapters[0].command);
    let world = TestProject::new(files, settings);
    world.ready(edit.0);
    let overlay = world.overlay();
    async_io::block_on(async {
        overlay.write(&path(edit.0), edit.1.as_bytes().to_vec()).await.unwrap();
        let snapshot = Snapshot::of(overlay.change_set());
        let before = world.intel.diagnostics(&snapshot, &[], Severity::Error).await.unwrap();
        assert_eq!(before.new_errors, 1, "{adapter}: {before:#?}");
        let place = || SymbolPosition { path: path(edit.0), line: at.0, symbol: at.1.to_owned() };
        let actions = world.intel.code_actions(&snapshot, place(), None).await.unwrap();
        assert!(
            actions.iter().any(|action| action.title == title && !action.command_only),
            "{adapter}: {actions:#?}"
        );
        let plan = world.intel.code_action(&snapshot, place(), None, title).await.unwrap();
        plan.apply(&overlay).await.unwrap();
        let text = overlay.read(&path(edit.0)).await.unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), fixed, "{adapter}");
        world.compile(&overlay, compiler).await;
        let snapshot = Snapshot::of(overlay.change_set());
        let after = world.intel.diagnostics(&snapshot, &[], Severity::Error).await.unwrap();
        assert_eq!(after.new_errors, 0, "{adapter}: {after:#?}");
    });
}

#[test]
fn rust_analyzer_fixes_an_import() {
    let files = [("Cargo.toml", MANIFEST), ("src/main.rs", "fn main() {}\n")];
    let edit = "fn main() {\n    let all: HashMap<u8, &str> = [(1, \"👩‍💻\")].into();\n    println!(\"{all:?}\");\n}\n";
    let fixed = format!("use std::collections::HashMap;\n\n{edit}");
    fix(
        "rust-analyzer",
        &files,
        ("src/main.rs", edit),
        (2, "HashMap"),
        ("Import `std::collections::HashMap`", &fixed),
        &["cargo", "check", "--quiet", "--offline"],
    );
}

#[test]
#[ignore = "needs typescript-language-server; `.ci/long` runs it"]
fn typescript_fixes_an_import() {
    let files = [
        (
            "tsconfig.json",
            "{\"compilerOptions\": {\"strict\": true, \"module\": \"commonjs\", \"types\": []}}\n",
        ),
        ("size.ts", "export function double(x: number): number {\n  return x * 2;\n}\n"),
        ("main.ts", "export {};\n"),
    ];
    let edit = "export const all = [\"👩‍💻\", double(2)];\n";
    let fixed = format!("import {{ double }} from \"./size\";\n\n{edit}");
    fix(
        "typescript-language-server",
        &files,
        ("main.ts", edit),
        (1, "double"),
        ("Add import from \"./size\"", &fixed),
        &["tsc", "--noEmit", "--project", "."],
    );
}

#[test]
#[ignore = "needs clangd; `.ci/long` runs it"]
fn clangd_fixes_a_name() {
    let files = [("compile_flags.txt", "-xc++\n"), ("main.cpp", "int main() { return 0; }\n")];
    let edit = "int length(const char *) { return 4; }\nint main() { return lenght(\"👩‍💻\"); }\n";
    let fixed = edit.replace("lenght", "length");
    let compiler = ["c++", "-fsyntax-only", "main.cpp"];
    fix(
        "clangd",
        &files,
        ("main.cpp", edit),
        (2, "lenght"),
        ("change 'lenght' to 'length'", &fixed),
        &compiler,
    );
}
