//! Runs the known language servers in real views, one of each. They are tested in addition to those of `intel.rs`, for
//! which every change waits.

use std::path::PathBuf;

use serde_json::json;

use super::intel::{read, turns};
use crate::support::Session;
use crate::support::project::call;

/// A project and its edits: one that is wrong, one that takes it back, and a new file that the first file then uses.
struct Trial {
    /// The beginning of the answer to the wrong edit: the server of the language, and how many errors are new.
    header: &'static str,
    /// A program that the server needs.
    program: &'static str,
    /// Servers for the same files that are turned off.
    without: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    main: &'static str,
    right: &'static str,
    wrong: &'static str,
    /// What is reported of the wrong edit.
    told: &'static str,
    /// A file that does not exist yet, its text, and the edit that uses it; `None` for a server that knows only one
    /// file at a time.
    new: Option<(&'static str, &'static str, &'static str)>,
}

/// The folders into which `.ci/install all-servers` installs servers.
fn installed() -> Vec<PathBuf> {
    let build = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let folders = ["servers/node_modules/.bin", "servers/venv/bin"].map(|folder| build.join(folder));
    folders.into_iter().filter_map(|folder| folder.canonicalize().ok()).collect()
}

impl Trial {
    fn session(&self) -> Session {
        let users = std::env::var_os("PATH").unwrap();
        let folders = installed().into_iter().chain(std::env::split_paths(&users));
        let path = std::env::join_paths(folders).unwrap();
        assert!(
            std::env::split_paths(&path).any(|folder| folder.join(self.program).is_file()),
            "this test needs {}: .ci/install all-servers installs it",
            self.program
        );
        let mut session =
            Session::new().variable("HEADSTART_SHADOW", "").variable("PATH", path.to_str().unwrap());
        // If Python comes from pyenv, the folder of a virtual environment only contains links to pyenv's.
        let pyenv = PathBuf::from(std::env::var_os("HOME").unwrap()).join(".pyenv");
        if pyenv.is_dir() {
            session = session.variable("PYENV_ROOT", pyenv.to_str().unwrap());
        }
        session.write(
            "home/.config/headstart/config.toml",
            format!("[code-intel]\nafter_edit = '30s'\nwithout = {:?}\n", self.without),
        );
        for (name, text) in self.files {
            session.write(&format!("project/{name}"), text);
        }
        session
    }

    fn run(&self) {
        let mut session = self.session();
        let before = session.hash();
        let edit = |from: &str, to: &str| {
            call("edit", &json!({"file_path": self.main, "old_string": from, "new_string": to}))
        };
        let look = call("diagnostics", &json!({"paths": [self.main]}));
        // A server that was just started may still be loading when it is asked first, so it is asked twice.
        let mut calls = vec![look.clone(), look, edit(self.right, self.wrong), edit(self.wrong, self.right)];
        if let Some((name, text, used)) = self.new {
            calls.push(call("write_file", &json!({"file_path": name, "content": text})));
            calls.push(edit(self.right, used));
        }
        calls.push(call("diagnostics", &json!({"paths": [self.main], "severity": "error"})));
        let (outcome, _) = session.speculate(&turns(&calls), "auto-edit");
        assert_eq!(outcome.finished()["status"], "completed", "{outcome}");
        let read = read(&outcome);
        assert!(read[2].contains(&format!("[{} in {}]", self.header, self.main)), "{outcome}");
        assert!(read[2].contains(self.told), "{outcome}");
        for said in &read[3..read.len() - 1] {
            assert!(!said.contains("new error"), "{outcome}");
        }
        assert_eq!(read.last().unwrap(), "nothing new", "{outcome}");
        assert_eq!(session.hash(), before, "nothing changes before an accept");
    }
}

const PYTHON: Trial = Trial {
    header: "basedpyright: 1 new error",
    program: "basedpyright-langserver",
    without: &["pyright", "ruff"],
    files: &[
        ("main.py", "from size import double\n\nprint(double(2))\n"),
        ("size.py", "def double(x: int) -> int:\n    return x * 2\n"),
    ],
    main: "main.py",
    right: "print(double(2))",
    wrong: "print(double('2'))",
    told: "main.py:3:14: error reportArgumentType",
    new: Some((
        "area.py",
        "def area(x: int) -> int:\n    return x * x\n",
        "import area\n\nprint(double(area.area(2)))",
    )),
};

#[test]
#[ignore = "needs basedpyright; `.ci/long` runs it"]
fn basedpyright_tells_the_errors_of_work_ahead_in_a_view() {
    PYTHON.run();
}

#[test]
#[ignore = "needs ruff and basedpyright; `.ci/long` runs it"]
fn ruff_beside_basedpyright_tells_the_errors_of_work_ahead_in_a_view() {
    Trial {
        header: "basedpyright: 2 new errors",
        program: "ruff",
        without: &["pyright"],
        wrong: "print(nothing)",
        told: "F821",
        new: None,
        ..PYTHON
    }
    .run();
}

#[test]
#[ignore = "needs typescript-language-server; `.ci/long` runs it"]
fn typescript_tells_the_errors_of_work_ahead_in_a_view() {
    Trial {
        header: "typescript-language-server: 1 new error",
        program: "typescript-language-server",
        without: &[],
        files: &[
            (
                "tsconfig.json",
                "{\"compilerOptions\": {\"strict\": true, \"module\": \"commonjs\", \"types\": []}}\n",
            ),
            ("main.ts", "export const all: number[] = [1];\n"),
        ],
        main: "main.ts",
        right: "export const all: number[] = [1];",
        wrong: "export const all: number[] = ['1'];",
        told: "main.ts:1:31: error 2322",
        new: Some((
            "area.ts",
            "export function area(x: number): number {\n  return x * x;\n}\n",
            "import { area } from './area';\n\nexport const all: number[] = [area(1)];",
        )),
    }
    .run();
}

#[test]
#[ignore = "needs gopls and go; `.ci/long` runs it"]
fn gopls_tells_the_errors_of_work_ahead_in_a_view() {
    Trial {
        header: "gopls: 1 new error",
        program: "gopls",
        without: &[],
        files: &[
            ("go.mod", "module example.com/view\n\ngo 1.18\n"),
            ("main.go", "package main\n\nfunc main() {\n\tprintln(1 + 1)\n}\n"),
        ],
        main: "main.go",
        right: "println(1 + 1)",
        wrong: "println(1 + \"1\")",
        told: "main.go:4:",
        new: Some((
            "area.go",
            "package main\n\nfunc area(x int) int {\n\treturn x * x\n}\n",
            "println(area(2))",
        )),
    }
    .run();
}

#[test]
#[ignore = "needs clangd; `.ci/long` runs it"]
fn clangd_tells_the_errors_of_work_ahead_in_a_view() {
    Trial {
        header: "clangd: 1 new error",
        program: "clangd",
        without: &[],
        files: &[("compile_flags.txt", "-xc++\n"), ("main.cpp", "int main() { return 1; }\n")],
        main: "main.cpp",
        right: "int main() { return 1; }",
        wrong: "int main() { return \"1\"; }",
        told: "main.cpp:1:21: error",
        new: Some((
            "area.h",
            "#pragma once\ninline int area(int x) { return x * x; }\n",
            "#include \"area.h\"\n\nint main() { return area(2); }",
        )),
    }
    .run();
}
