use proptest::prelude::*;

use super::*;

const DOCUMENT: &str = r#"# What is *wrong*

The function `add` **subtracts**. See [lib.rs:2](src/lib.rs#L2), <https://example.org/a> and [https://example.org/b](https://example.org/b).
A second line of the same paragraph.

Setext
------

| name | wants | gets |
|------|------:|:----:|
| `add(2,2)` | 4 | 0 |
| a longer name | 1,000 | **none** |

1. first a long entry that is folded at a word and hangs below its first word
2. second, with code:

   ```sh
   cargo test --workspace -- --nocapture a_name_that_is_longer_than_any_row_here
   ```

   and words behind it
   - within
     - deeper
10. tenth
* another list

- [x] done
- [ ] open

```rust
fn add(a: i32, b: i32) -> i32 {

    a + b // a line of code that is longer than forty columns of a terminal
}
```

> a quote that goes on for longer than a narrow row has room
> > and one within
>
> ```
> code in it
> ```

---

    indented code

https://example.org/an/address/that/is/longer/than/a/row/of/a/narrow/terminal is whole.
![a picture](shot.png) a hard break\
follows, <b>HTML</b> &amp; \*marks\*.
<!-- a remark -->

[name]: https://example.org/c "title"
1986. was a year
漢字は二つの列を取る

~~~~
``` within
~~~~"#;

fn options(columns: u16, palette: Palette) -> RenderOptions {
    RenderOptions { columns, palette, markdown: Markdown::Rendered, highlights: true }
}

fn all_rows(text: &str, options: RenderOptions) -> Vec<Row> {
    let mut answer = AnswerRenderer::default();
    let mut rows = answer.push(text, options);
    rows.extend(answer.end(options));
    rows
}

/// Rows with a letter for each style, such as `{s:strong}`.
fn marked(rows: &[Row]) -> String {
    let span = |span: &super::super::row::Span| match span.style {
        Style::Plain => span.text.clone(),
        Style::Code(part) => format!("{{{part:?}:{}}}", span.text),
        style => format!("{{{}:{}}}", format!("{style:?}").to_lowercase().split_at(1).0, span.text),
    };
    rows.iter().map(|row| row.spans.iter().map(span).collect::<String>() + "\n").collect()
}

#[test]
fn every_construct_has_its_rows_in_four_widths_and_without_styles() {
    for columns in [20, 40, 80, 120] {
        let rows = all_rows(DOCUMENT, options(columns, Palette::STYLED));
        insta::assert_snapshot!(format!("markdown_{columns}"), marked(&rows));
    }
    insta::assert_snapshot!("markdown_plain_80", marked(&all_rows(DOCUMENT, options(80, Palette::PLAIN))));
}

#[test]
fn nobody_is_led_to_an_address_that_they_cannot_read() {
    let linked = Palette { links: true, ..Palette::STYLED };
    let shown = |source: &str, palette, columns| {
        let span = |span: &super::super::row::Span| match &span.link {
            Some(link) => format!("<{}|{}>", span.text, link.address()),
            None => span.text.clone(),
        };
        let rows = all_rows(source, options(columns, palette));
        rows.iter().map(|row| row.spans.iter().map(span).collect::<String>()).collect::<Vec<_>>().join("\n")
    };
    for (source, unlinked, expected) in [
        (
            "<https://example.org/a>.",
            "https://example.org/a.",
            "<https://example.org/a|https://example.org/a>.",
        ),
        (
            "[example.org](https://example.org/a)",
            "example.org (https://example.org/a)",
            "<example.org|https://example.org/a>",
        ),
        (
            "[good.com](https://evil.com/)",
            "good.com (https://evil.com/)",
            "<good.com|https://evil.com/>< (https://evil.com/)|https://evil.com/>",
        ),
        (
            "[the **docs**](https://docs.rs)",
            "the docs (https://docs.rs)",
            "<the |https://docs.rs/><docs|https://docs.rs/>< (https://docs.rs/)|https://docs.rs/>",
        ),
        // For letters of other scripts, the shown address is the one that is opened.
        (
            "<https://\u{430}pple.com/>",
            "https://\u{430}pple.com/",
            "<https://\u{430}pple.com/|https://xn--pple-43d.com/>< (https://xn--pple-43d.com/)|https://xn--pple-43d.com/>",
        ),
        ("[run](javascript:alert)", "run (javascript:alert)", "run (javascript:alert)"),
        ("[key](file://evil.com/a)", "key (file://evil.com/a)", "key (file://evil.com/a)"),
        ("[a.rs](src/a.rs)", "a.rs (src/a.rs)", "a.rs (src/a.rs)"),
        (
            "[x](https://a.org/\u{1b}]8;;https://evil.com\u{7})",
            "x (https://a.org/\\u{1b}]8;;https://evil.com\\u{7})",
            "x (https://a.org/\\u{1b}]8;;https://evil.com\\u{7})",
        ),
        (
            "[x](https://a.org/&#27;]8;;https://evil.com&#7;)",
            "x (https://a.org/\\u{1b}]8;;https://evil.com\\u{7})",
            "x (https://a.org/\\u{1b}]8;;https://evil.com\\u{7})",
        ),
    ] {
        assert_eq!(shown(source, Palette::STYLED, 120), unlinked, "{source:?}");
        assert_eq!(shown(source, linked, 120), expected, "{source:?}");
    }
    // A text that is folded is a link in each row, also in a table.
    let folded = shown("See [example.org/a b](https://example.org/)", linked, 20);
    assert_eq!(
        folded,
        "See <example.org/a b|https://example.org/>\n<(https://example.org/)|https://example.org/>"
    );
    let table = shown("|a|\n|-|\n|<https://a.org>|", linked, 40);
    assert!(table.ends_with("<https://a.org|https://a.org/>"), "{table}");
}

#[test]
fn a_block_is_above_the_frame_as_soon_as_its_end_is_certain() {
    let options = options(40, Palette::STYLED);
    // Each step is a piece, the rows above the frame after it, and the rows in the frame.
    let steps = [
        ("A **wo", "", "A **wo\n"),
        ("rd**\n", "", "A {s:word}\n"),
        ("\n", "A {s:word}\n", ""),
        ("```r", "", "\n{d:```r}\n"),
        ("s\nlet", "\n{d:```rs}\n", "let\n"),
        // A line of code has its colours as soon as it is complete.
        (" x;\n", "{Keyword:let} x;\n", ""),
        ("```\n", "{d:```}\n", ""),
        ("- one\n", "", "- one\n"),
        ("- two\n", "- one\n", "- two\n"),
        ("\n", "", "- two\n"),
        ("# Head\n", "- two\n\n{s:Head}\n", ""),
        ("|a|b|\n|-|-|\n|1|2|\n", "", "{d:table, 1 row}\n"),
        ("|3|4|\n|5|", "", "{d:table, 2 rows}\n"),
        ("6|\n\nend\n\n", "  {s:a}  {s:b}\n  {d:─}  {d:─}\n  1  2\n  3  4\n  5  6\n\nend\n", ""),
    ];
    let mut answer = AnswerRenderer::default();
    for (piece, above, open) in steps {
        assert_eq!(marked(&answer.push(piece, options)), above, "{piece:?}");
        assert_eq!(marked(&answer.open_rows(options)), open, "{piece:?}");
    }
}

#[test]
fn while_an_answer_comes_no_more_than_its_open_block_is_rendered() {
    let options = options(80, Palette::STYLED);
    let mut answer = AnswerRenderer::default();
    let mut rows = 0;
    for _ in 0..500 {
        rows += answer.push("A paragraph of about sixty bytes, as a model writes them.\n\n", options).len();
        assert_eq!(answer.open_rows(options), []);
    }
    assert_eq!(rows, 999);
    // Only the end of a long open block is rendered.
    for _ in 0..5_000 {
        assert_eq!(answer.push("word ", options), []);
    }
    let shown: usize = answer.open_rows(options).iter().map(|row| row.width).sum();
    assert!((4_000..=MAX_OPEN_BYTES).contains(&shown), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_letter_of_an_answer_is_lost(
        lines in proptest::collection::vec(
            "(- |  [*] |12[.] |1[)] |> |## |    |\t)?([a-z]{1,6}[ *_`~]{1,2}){0,9}|```|~~~|---|===|> ```|   ```|<b>|&#35;|\\[a\\]: b", 0..12),
        plain: bool,
        columns in 20_u16..90,
    ) {
        let text = lines.join("\n");
        let palette = if plain { Palette::PLAIN } else { Palette::STYLED };
        let rows = all_rows(&text, options(columns, palette));
        let letters =
            |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        prop_assert_eq!(letters(&marked_plainly(&rows)), letters(&text));
    }
}

fn marked_plainly(rows: &[Row]) -> String {
    rows.iter().flat_map(|row| &row.spans).map(|span| span.text.as_str()).collect()
}
