use proptest::prelude::*;

use super::*;

/// The parts of a line with the names of their styles: `[Keyword:let] x`.
fn marked(code: &mut Highlighter, line: &str) -> String {
    let part = |span: &Span| match span.style {
        Style::Plain => span.text.clone(),
        Style::Code(part) => format!("[{part:?}:{}]", span.text),
        style => format!("[{style:?}:{}]", span.text),
    };
    code.line(line).iter().map(part).collect()
}

#[test]
fn parts_of_code_have_the_styles_of_their_language() {
    for (info, lines) in [
        (
            "```rust",
            &[(
                "fn add(a: u8) -> Vec<u8> { let b = \"x\"; b + 1 } // sum",
                "[Keyword:fn] [Function:add](a: [Keyword:u8]) -> [Type:Vec]<[Keyword:u8]> { [Keyword:let] b = [String:\"x\"]; b + [Constant:1] } [Comment:// sum]",
            )][..],
        ),
        ("```rs,ignore", &[("let x = 1;", "[Keyword:let] x = [Constant:1];")]),
        (
            "~~~ {.python}",
            &[
                ("def f(): return None", "[Keyword:def] [Function:f](): [Keyword:return] [Constant:None]"),
                // A construct that spans lines is recognized on the next line.
                ("\"\"\"a", "[Comment:\"\"\"a]"),
                ("def f(): \"\"\"", "[Comment:def f(): \"\"\"]"),
            ],
        ),
        (
            "```shell",
            &[(
                "if true; then echo \"$x\"; fi",
                "[Keyword:if] [Function:true]; [Keyword:then] [Function:echo] [String:\"$x\"]; [Keyword:fi]",
            )],
        ),
        ("```jsonc", &[("{\"a\": [1, true]}", "{[String:\"a\"]: [[Constant:1], [Constant:true]]}")]),
        ("```diff", &[("-old", "[Removed:-old]"), ("+new", "[Added:+new]"), (" same", " same")]),
        ("```", &[("let x = 1;", "let x = 1;")]),
        ("```no such language", &[("let x = 1;", "let x = 1;")]),
    ] {
        let mut code = Highlighter::of_fence(info, Palette::STYLED);
        for (line, expected) in lines {
            assert_eq!(marked(&mut code, line), *expected, "{info}");
        }
    }
}

#[test]
fn a_language_is_known_by_the_names_that_people_and_models_write() {
    let names = [
        "bash",
        "C",
        "c#",
        "c++",
        "cpp",
        "csharp",
        "css",
        "dart",
        "dockerfile",
        "elixir",
        "go",
        "golang",
        "graphql",
        "haskell",
        "html",
        "java",
        "JavaScript",
        "js",
        "json",
        "json5",
        "jsonc",
        "jsx",
        "julia",
        "kotlin",
        "lua",
        "makefile",
        "md",
        "nix",
        "perl",
        "php",
        "proto",
        "py",
        "python",
        "python3",
        "r",
        "rb",
        "rs",
        "ruby",
        "Rust",
        "scala",
        "sh",
        "shell",
        "sql",
        "svelte",
        "swift",
        "terraform",
        "toml",
        "ts",
        "tsx",
        "typescript",
        "vue",
        "xml",
        "yaml",
        "yml",
        "zig",
        "zsh",
    ];
    let is_known =
        |name: &&str| Highlighter::of_fence(&format!("```{name}"), Palette::STYLED).state.is_some();
    assert_eq!(names.into_iter().filter(|name| !is_known(name)).collect::<Vec<_>>(), [""; 0]);
    for path in ["src/lib.rs", "Makefile", "a/Dockerfile", ".bashrc", "web/page.tsx", "Cargo.toml", "x.yml"] {
        assert!(Highlighter::of_path(path, Palette::STYLED).state.is_some(), "{path}");
    }
    for path in ["", "LICENSE", "a.unknown"] {
        assert!(Highlighter::of_path(path, Palette::STYLED).state.is_none(), "{path}");
    }
}

#[test]
fn without_styles_and_beyond_a_length_code_is_plain() {
    assert!(Highlighter::of_fence("```rust", Palette::PLAIN).state.is_none());
    let mut code = Highlighter::of_fence("```rust", Palette::STYLED);
    let is_plain = |code: &mut Highlighter, line: &str| code.line(line) == plain(line);
    // Only this line is plain; those after it have styles again.
    assert!(is_plain(&mut code, &format!("let {}", "x".repeat(MAX_LINE_BYTES))));
    assert!(!is_plain(&mut code, "let x = 1;"));
    let mut long = Highlighter { lines: MAX_LINES - 1, ..code.clone() };
    assert!(!is_plain(&mut long, "let x = 1;"));
    assert!(is_plain(&mut long, "let x = 1;"));
    let mut large = Highlighter { bytes: MAX_BYTES - 10, ..code };
    assert!(!is_plain(&mut large, "let x = 1;"));
    assert!(is_plain(&mut large, "let x = 1;"));
}

fn whole(parts: &[Span]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_parts_of_a_line_are_the_line(
        lines in proptest::collection::vec("[a-z0-9 \"'`(){}<>/*#$\\\\é漢\u{301}\t]{0,40}", 1..5),
        language in prop_oneof![Just("rust"), Just("json"), Just("diff"), Just("toml")],
    ) {
        let mut code = Highlighter::of_fence(language, Palette::STYLED);
        for line in &lines {
            prop_assert_eq!(&whole(&code.line(line)), line);
        }
    }
}

/// Every syntax reads a text that closes nothing, one of punctuation, and a long line. This takes minutes, because each
/// syntax compiles its expressions.
#[test]
#[ignore = "takes minutes: .ci/long runs it"]
fn every_syntax_reads_whatever_comes() {
    for language in HighlightState::languages() {
        let mut code = Highlighter::of_fence(&format!("```{language}"), Palette::STYLED);
        let long = "a(b[c{d\"e'f`g/*h ".repeat(58);
        for line in [
            "",
            "if (x) { \"open ${ [ <<EOF",
            "é漢\u{301}👩‍👩‍👧 \u{200b}",
            "---",
            &long,
            "```",
            "#!/bin/sh",
            "</x>",
        ] {
            assert_eq!(whole(&code.line(line)), line, "{language}");
        }
    }
}
