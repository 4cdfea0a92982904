//! The projects and states of the story for each language.

use crate::story::{State, Story};

const PYTHON: Story = Story {
    server: "pyright",
    programs: &["pyright-langserver"],
    files: &[
        ("size.py", "def double(x: int) -> int:\n    return x * 2\n"),
        ("main.py", "from size import double\n\nprint(\"👩‍💻\", double(2))\n"),
    ],
    main: "main.py",
    states: &[
        State {
            what: "edit",
            edits: &[("main.py", Some("from size import double\n\nprint(\"👩‍💻\", double(\"2\"))\n"))],
            new: &["main.py:3"],
        },
        State {
            what: "other file",
            edits: &[("size.py", Some("\ndef double(x: str) -> str:\n    return x\n"))],
            new: &["main.py:3"],
        },
        State { what: "removed", edits: &[("size.py", None)], new: &["main.py:1"] },
        State {
            what: "new file",
            edits: &[
                ("new.py", Some("def double(x: int) -> int:\n    return x\n")),
                ("main.py", Some("from new import double\n\ndouble(2)\n")),
            ],
            new: &[],
        },
        State { what: "reverted", edits: &[], new: &[] },
        State {
            what: "moved",
            edits: &[("size.py", None), ("area.py", Some("def double(x: int) -> int:\n    return x * 2\n"))],
            new: &["main.py:1"],
        },
    ],
    name: (3, "double"),
    defined: "size.py:1",
    uses: 3,
    hover: "def double(x: int) -> int",
    renamed: &["main.py", "size.py"],
    compiler: &["python3", "main.py"],
};

#[test]
fn pyright() {
    PYTHON.run();
}

#[test]
#[ignore = "needs basedpyright; `.ci/long` runs it"]
fn basedpyright() {
    Story { server: "basedpyright", programs: &["basedpyright-langserver"], ..PYTHON }.run();
}

#[test]
fn rust_analyzer() {
    let story = Story {
        server: "rust-analyzer",
        programs: &["rust-analyzer", "cargo"],
        files: &[
            (
                "Cargo.toml",
                "[package]\nname = \"story\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
            ),
            ("src/size.rs", "pub fn double(x: u32) -> u32 {\n    x * 2\n}\n"),
            ("src/main.rs", "mod size;\n\nfn main() {\n    println!(\"👩‍💻 {}\", size::double(2));\n}\n"),
        ],
        main: "src/main.rs",
        states: &[
            State {
                what: "edit",
                edits: &[(
                    "src/main.rs",
                    Some("mod size;\n\nfn main() {\n    println!(\"👩‍💻 {}\", size::double(\"2\"));\n}\n"),
                )],
                new: &["src/main.rs:4"],
            },
            State {
                what: "other file",
                edits: &[("src/size.rs", Some("\npub fn double(x: &str) -> &str {\n    x\n}\n"))],
                new: &["src/main.rs:4"],
            },
            State { what: "removed", edits: &[("src/size.rs", None)], new: &["src/main.rs:1"] },
            State {
                what: "new file",
                edits: &[
                    ("src/new.rs", Some("pub fn double(x: u32) -> u32 {\n    x\n}\n")),
                    (
                        "src/main.rs",
                        Some(
                            "mod new;\nmod size;\n\nfn main() {\n    println!(\"{}\", new::double(size::double(2)));\n}\n",
                        ),
                    ),
                ],
                new: &[],
            },
            State { what: "reverted", edits: &[], new: &[] },
            State {
                what: "borrow checker",
                edits: &[(
                    "src/size.rs",
                    Some(
                        "pub fn double(x: u32) -> u32 {\n    let all = vec![x];\n    drop(all);\n    all[0] * 2\n}\n",
                    ),
                )],
                new: &["src/size.rs:4"],
            },
            State {
                what: "moved",
                edits: &[
                    ("src/size.rs", None),
                    ("src/area.rs", Some("pub fn double(x: u32) -> u32 {\n    x * 2\n}\n")),
                ],
                new: &["src/main.rs:1"],
            },
        ],
        name: (4, "double"),
        defined: "src/size.rs:1",
        uses: 2,
        hover: "pub fn double(x: u32) -> u32",
        renamed: &["src/main.rs", "src/size.rs"],
        compiler: &["cargo", "check", "--quiet", "--offline"],
    };
    story.run();
}

#[test]
#[ignore = "needs typescript-language-server; `.ci/long` runs it"]
fn typescript() {
    let story = Story {
        server: "typescript-language-server",
        programs: &["typescript-language-server", "tsc"],
        files: &[
            (
                "tsconfig.json",
                "{\"compilerOptions\": {\"strict\": true, \"module\": \"commonjs\", \"types\": []}, \"include\": [\"src\"]}\n",
            ),
            ("src/size.ts", "export function double(x: number): number {\n  return x * 2;\n}\n"),
            (
                "src/main.ts",
                "import { double } from \"./size\";\n\nexport const all = [\"👩‍💻\", double(2)];\n",
            ),
        ],
        main: "src/main.ts",
        states: &[
            State {
                what: "edit",
                edits: &[(
                    "src/main.ts",
                    Some(
                        "import { double } from \"./size\";\n\nexport const all = [\"👩‍💻\", double(\"2\")];\n",
                    ),
                )],
                new: &["src/main.ts:3"],
            },
            State {
                what: "other file",
                edits: &[(
                    "src/size.ts",
                    Some("\nexport function double(x: string): string {\n  return x;\n}\n"),
                )],
                new: &["src/main.ts:3"],
            },
            State { what: "removed", edits: &[("src/size.ts", None)], new: &["src/main.ts:1"] },
            State {
                what: "new file",
                edits: &[
                    ("src/new.ts", Some("export function double(x: number): number {\n  return x;\n}\n")),
                    (
                        "src/main.ts",
                        Some("import { double } from \"./new\";\n\nexport const all = [double(2)];\n"),
                    ),
                ],
                new: &[],
            },
            State { what: "reverted", edits: &[], new: &[] },
            State {
                what: "moved",
                edits: &[
                    ("src/size.ts", None),
                    (
                        "src/area.ts",
                        Some("export function double(x: number): number {\n  return x * 2;\n}\n"),
                    ),
                ],
                new: &["src/main.ts:1"],
            },
        ],
        name: (3, "double"),
        defined: "src/size.ts:1",
        uses: 3,
        hover: "double(x: number): number",
        renamed: &["src/main.ts", "src/size.ts"],
        compiler: &["tsc", "--noEmit"],
    };
    story.run();
}

#[test]
#[ignore = "needs gopls and go; `.ci/long` runs it"]
fn gopls() {
    let story = Story {
        server: "gopls",
        programs: &["gopls", "go"],
        files: &[
            ("go.mod", "module example.com/story\n\ngo 1.18\n"),
            ("size.go", "package main\n\nfunc Double(x int) int {\n\treturn x * 2\n}\n"),
            ("main.go", "package main\n\nfunc main() {\n\tprintln(\"👩‍💻\", Double(2))\n}\n"),
        ],
        main: "main.go",
        states: &[
            State {
                what: "edit",
                edits: &[(
                    "main.go",
                    Some("package main\n\nfunc main() {\n\tprintln(\"👩‍💻\", Double(\"2\"))\n}\n"),
                )],
                new: &["main.go:4"],
            },
            State {
                what: "other file",
                edits: &[(
                    "size.go",
                    Some("package main\n\n\nfunc Double(x string) string {\n\treturn x\n}\n"),
                )],
                new: &["main.go:4"],
            },
            State { what: "removed", edits: &[("size.go", None)], new: &["main.go:4"] },
            State {
                what: "new file",
                edits: &[
                    ("more.go", Some("package main\n\nfunc More(x int) int {\n\treturn x\n}\n")),
                    ("main.go", Some("package main\n\nfunc main() {\n\tprintln(More(Double(2)))\n}\n")),
                ],
                new: &[],
            },
            State { what: "reverted", edits: &[], new: &[] },
            State {
                // The file of a package that a definition is in makes no difference. A file that was not removed would
                // declare the name twice.
                what: "moved",
                edits: &[
                    ("size.go", None),
                    ("area.go", Some("package main\n\nfunc Double(x int) int {\n\treturn x * 2\n}\n")),
                ],
                new: &[],
            },
            State {
                what: "moved, and used wrongly",
                edits: &[
                    ("size.go", None),
                    ("area.go", Some("package main\n\nfunc Double(x string) string {\n\treturn x\n}\n")),
                ],
                new: &["main.go:4"],
            },
        ],
        name: (4, "Double"),
        defined: "size.go:3",
        uses: 2,
        hover: "func Double(x int) int",
        renamed: &["main.go", "size.go"],
        compiler: &["go", "build", "-o", "/dev/null", "./..."],
    };
    story.run();
}

#[test]
#[ignore = "needs clangd; `.ci/long` runs it"]
fn clangd() {
    let story = Story {
        server: "clangd",
        programs: &["clangd"],
        files: &[
            ("compile_flags.txt", "-xc++\n"),
            ("size.h", "#pragma once\ninline int double_it(int x) { return x * 2; }\n"),
            (
                "main.cpp",
                "#include \"size.h\"\n\nint main() { const char *s = \"👩‍💻\"; return double_it(2) + (s != nullptr); }\n",
            ),
        ],
        main: "main.cpp",
        states: &[
            State {
                what: "edit",
                edits: &[(
                    "main.cpp",
                    Some("#include \"size.h\"\n\nint main() { return double_it(\"2\"); }\n"),
                )],
                new: &["main.cpp:3"],
            },
            State {
                what: "other file",
                edits: &[(
                    "size.h",
                    Some("#pragma once\n\ninline int double_it(const char *x) { return *x; }\n"),
                )],
                new: &["main.cpp:3"],
            },
            State { what: "removed", edits: &[("size.h", None)], new: &["main.cpp:1", "main.cpp:3"] },
            State {
                what: "new file",
                edits: &[
                    ("more.h", Some("#pragma once\ninline int more(int x) { return x; }\n")),
                    ("main.cpp", Some("#include \"more.h\"\n\nint main() { return more(2); }\n")),
                ],
                new: &[],
            },
            State { what: "reverted", edits: &[], new: &[] },
            State {
                what: "moved",
                edits: &[
                    ("size.h", None),
                    ("area.h", Some("#pragma once\ninline int double_it(int x) { return x * 2; }\n")),
                ],
                new: &["main.cpp:1", "main.cpp:3"],
            },
        ],
        name: (3, "double_it"),
        defined: "size.h:2",
        uses: 2,
        hover: "double_it",
        renamed: &["main.cpp", "size.h"],
        compiler: &["c++", "-fsyntax-only", "main.cpp"],
    };
    story.run();
}
