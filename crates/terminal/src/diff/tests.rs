use proptest::prelude::*;

use super::*;

const PATCH: &str = "diff --git a/src/parser.rs b/src/parser.rs
old mode 100644
new mode 100755
--- a/src/parser.rs
+++ b/src/parser.rs
@@ -11,3 +11,4 @@
 fn add(a: i32, b: i32) -> i32 {
-    a - b
+    a + b
+    // checked: see the table of operators in docs/grammar.md  
 }
@@ -20 +21 @@
-old
\\ No newline at end of file
+entirely different
diff --git a/new name.txt b/new name.txt
new file mode 100644
--- /dev/null
+++ b/new name.txt\t
@@ -0,0 +1,2 @@
+diff --git a/x b/x
++++ \u{1b}[2J
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
--- gone
diff --git a/from.rs b/to.rs
rename from from.rs
rename to to.rs
diff --git a/shot.png b/shot.png
Binary files a/shot.png and b/shot.png differ
diff --git \"a/od\\\"d\" \"b/od\\\"d\"
--- \"a/od\\\"d\"
+++ \"b/od\\\"d\"
@@ -1,2 +1,2 @@
-a\r
-b\r
+a
+b
diff --git a/Cargo.lock b/Cargo.lock
--- a/Cargo.lock
+++ b/Cargo.lock
@@ -1 +1 @@
-version = 3
+version = 4
";

fn lines_of(diff: &Diff, room: usize, hint: &str) -> Vec<HangingLine> {
    diff.lines(DiffLayout { room, hint, palette: Palette::PLAIN, columns: 80 })
}

fn shown(lines: &[HangingLine]) -> String {
    let mut shown = String::new();
    for line in lines {
        for span in line.margin.iter().chain(&line.text) {
            match span.style {
                Style::AddedWord | Style::RemovedWord => shown.extend(["[", &span.text, "]"]),
                _ => shown.push_str(&span.text),
            }
        }
        shown.push('\n');
    }
    shown.replace('\u{1b}', "ESC")
}

#[test]
fn each_kind_of_change_has_its_lines() {
    insta::assert_snapshot!("diff_whole", shown(&lines_of(&Diff::parse(PATCH), usize::MAX, "")));
    let words = Diff::parse(PATCH).shown_as(DiffForm::Words);
    insta::assert_snapshot!("diff_words", shown(&lines_of(&words, usize::MAX, "")));
    insta::assert_snapshot!("diff_folded", shown(&lines_of(&Diff::parse(PATCH), 10, ": d shows all")));
}

#[test]
fn a_line_that_is_broken_has_its_sign_in_each_row() {
    let patch = "diff --git a/a.txt b/a.txt\n@@ -7,2 +7,2 @@\n one two three four\n-five six seven eight\n+five six seven nine!\n";
    let of = |columns, form| {
        let diff = Diff::parse(patch).shown_as(form);
        let rows = lines_of(&diff, 30, "").into_iter().skip(1).flat_map(|line| hanging_rows(&line, columns));
        rows.map(|row| row.spans.iter().map(|span| span.text.as_str()).collect::<String>())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of(21, DiffForm::Unified),
        [
            "    7   one two three",
            "         four",
            "    8 - five six seve",
            "      - n eight",
            "    8 + five six seve",
            "      + n nine!"
        ]
    );
    // Where a row has no room for the margin, what fits of it is blank.
    assert!(of(4, DiffForm::Unified).iter().all(|row| row.chars().count() <= 8));
}

#[test]
fn of_a_file_that_a_program_wrote_there_is_a_header_unless_all_is_wanted() {
    let long = format!("diff --git a/min.js b/min.js\n@@ -0,0 +1,2 @@\n+{}\n+x\n", "x".repeat(401));
    let schema = "diff --git a/api/schema.ts b/api/schema.ts\n@@ -1 +1 @@\n-a\n+b\n";
    let lock = "diff --git a/sub/yarn.lock b/sub/yarn.lock\n@@ -1 +1 @@\n-a\n+b\n";
    let diff = Diff::parse(&[lock, schema, &long].concat()).with_generated(|path| path == "api/schema.ts");
    assert_eq!(
        shown(&lines_of(&diff, 30, " (Ctrl-T)")),
        "edit sub/yarn.lock  +1 -1\n… 2 lines of a lock file (Ctrl-T)\n\
         edit api/schema.ts  +1 -1\n… 2 lines of a generated file (Ctrl-T)\n\
         edit min.js  +2\n… 2 lines with very long ones among them (Ctrl-T)\n"
    );
    assert_eq!(shown(&lines_of(&diff, usize::MAX, "")).matches(" - a").count(), 2);
}

#[test]
fn a_wide_header_says_where_a_file_begins_to_differ_and_in_how_many_hunks() {
    let mut seen = Vec::new();
    let diff = Diff::parse(PATCH).with_definitions(|path, lines| {
        seen.push((path.to_owned(), lines.to_vec()));
        (path == "src/parser.rs").then(|| "fn add\u{1b}[2J".to_owned())
    });
    let paths: Vec<_> = seen.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["src/parser.rs", "to.rs", "shot.png", "od\\\"d", "Cargo.lock"]);
    let (removed, added) = (ChangedLine::Removed, ChangedLine::Added);
    assert_eq!(seen[0].1, [removed(12), added(12), added(13), removed(20), added(21)]);
    let headers = |columns| {
        let header = diff.files[0].header(columns);
        let rows = hanging_rows(&header, columns);
        rows[0].spans.iter().map(|span| span.text.as_str()).collect::<String>()
    };
    assert_eq!(headers(120), r"edit src/parser.rs  +3 -2  mode 644→755   fn add\u{1b}[2J · 2 hunks");
    assert_eq!(headers(80), "edit src/parser.rs  +3 -2  mode 644→755");
    let one = Diff::parse("diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b\n");
    assert_eq!((one.place(120), diff.place(120)), (None, None));
}

#[test]
fn what_a_header_says_in_words_is_said_where_the_name_stands_above() {
    let patch = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n@@ -1 +1 @@\n-a\r\n+a\n";
    let diff = Diff::parse(patch).unnamed();
    assert_eq!(shown(&lines_of(&diff, 30, "")), "  mode 644→755 · line ends CRLF→LF\n    1 - a\n    1 + a\n");
}

#[test]
fn rows_after_the_first_stand_behind_the_numbers_in_three_widths() {
    let lines = lines_of(&Diff::parse(PATCH), usize::MAX, "");
    for columns in [40, 80, 120] {
        let rows: Vec<String> = lines
            .iter()
            .flat_map(|line| hanging_rows(line, columns))
            .map(|row| row.spans.iter().map(|span| span.text.as_str()).collect::<String>() + "\n")
            .collect();
        assert!(rows.iter().all(|row| !row.contains('\u{1b}')), "{rows:?}");
        insta::assert_snapshot!(format!("diff_{columns}"), rows.concat());
    }
}

proptest! {
    #[test]
    fn words_that_went_and_came_are_those_of_both_sides(
        hunk in proptest::collection::vec(("[-+ ]", "[ab]{1,2}( [abc]{1,2}){0,3}"), 1..12),
    ) {
        let of = |sign: &str| hunk.iter().filter(|(of, _)| of == sign || of == " ").count();
        let lines: String = hunk.iter().flat_map(|(sign, text)| [sign, text, "\n"]).collect();
        let patch = format!("diff --git a/a b/a\n@@ -1,{} +1,{} @@\n{lines}", of("-"), of("+"));
        let merged = Diff::parse(&patch).shown_as(DiffForm::Words);
        let side = |left_out: ChangeTag, sign: char| {
            let lines = merged.files[0].hunks[0].iter().filter(move |line| [' ', CHANGED, sign].contains(&line.sign));
            let text = move |line: &DiffLine| match line.sign {
                CHANGED => line.words.iter().filter(|(tag, _)| *tag != left_out).map(|(_, word)| word.as_str()).collect(),
                _ => line.text.clone(),
            };
            lines.map(text).collect::<Vec<_>>()
        };
        // Within a hunk, removed and added lines may alternate. Lines that are not separated by a kept one may change
        // their order.
        let whole = |sign: &str| {
            hunk.iter().filter(|(of, _)| of == sign || of == " ").map(|(_, text)| text.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(side(ChangeTag::Insert, '-'), whole("-"));
        prop_assert_eq!(side(ChangeTag::Delete, '+'), whole("+"));
    }

    #[test]
    fn what_is_shown_and_what_is_counted_is_all_there_is(
        files in proptest::collection::vec(proptest::collection::vec(1_usize..40, 0..5), 1..6),
        room in 0_usize..120,
    ) {
        let mut patch = String::new();
        for hunks in &files {
            patch.push_str("diff --git a/a b/a\n--- a/a\n+++ b/a\n");
            for length in hunks {
                let lines = "+x\n".repeat(*length);
                patch.extend(["@@ -1,0 +1,", &length.to_string(), " @@\n", &lines]);
            }
        }
        let shown = shown(&lines_of(&Diff::parse(&patch), room, ""));
        let lines = shown.lines().filter(|line| line.ends_with(" + x")).count();
        let counted = shown.lines().filter_map(|line| line.strip_prefix("… ")?.split(' ').next()?.parse::<usize>().ok());
        let all: usize = files.iter().flatten().sum();
        prop_assert!(lines <= room);
        prop_assert_eq!(lines + counted.sum::<usize>(), all);
    }
}
