//! Answers of a size that a model can take: of what is too long, the beginning and the end.

use serde_json::{Value, json};

/// The most bytes of an answer.
pub(super) const MOST: usize = 30_000;
/// Where a list can be shortened, no text is cut to fewer bytes than this.
const FEW: usize = 400;
/// How many items of a list are kept, from the most to the least.
const ITEMS: [usize; 6] = [4_000, 1_000, 250, 60, 15, 4];

/// The answer as JSON of at most [`MOST`] bytes.
pub(super) fn fit(value: &Value) -> String {
    let text = value.to_string();
    if text.len() <= MOST {
        return text;
    }
    for items in ITEMS {
        let value = shortened(value, items, MOST);
        let fits = |most: usize| shortened(&value, items, most).to_string().len() <= MOST;
        // The most bytes of each text with which the whole fits.
        let (mut least, mut beyond) = (0, MOST + 1);
        while 1 < beyond - least {
            let middle = usize::midpoint(least, beyond);
            if fits(middle) { least = middle } else { beyond = middle }
        }
        if FEW <= least {
            return shortened(&value, items, least).to_string();
        }
    }
    // Something has very many fields, or is nested very deeply.
    ends(&text, MOST)
}

/// The value with texts of at most `most` bytes, and lists of at most `items` items.
fn shortened(value: &Value, items: usize, most: usize) -> Value {
    let shorter = |value: &Value| shortened(value, items, most);
    match value {
        Value::String(text) => Value::String(ends(text, most)),
        // The remark counts as an item, so that nothing is left out of what was shortened already.
        Value::Array(list) if items < list.len() => {
            let (head, tail) = (items / 2, items - items / 2 - 1);
            let left_out = json!({ "leftOut": list.len() - head - tail });
            let (before, behind) = (&list[..head], &list[list.len() - tail..]);
            before.iter().map(shorter).chain([left_out]).chain(behind.iter().map(shorter)).collect()
        }
        Value::Array(list) => list.iter().map(shorter).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), shorter(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// The beginning and the end of a text, of at most `most` bytes with the remark between them.
pub(super) fn ends(text: &str, most: usize) -> String {
    /// What the remark takes at most.
    const REMARK: usize = 60;
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most.saturating_sub(REMARK) / 2;
    let is_boundary = |place: &usize| text.is_char_boundary(*place);
    let head = (0..=half).rev().find(is_boundary).unwrap_or_default();
    let tail = (text.len() - half..=text.len()).find(is_boundary).unwrap_or(text.len());
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let value = json!({ "exitCode": 3, "output": "a".repeat(MOST - 100) });
        assert_eq!(fit(&value), value.to_string());
    }

    #[test]
    fn of_a_long_text_both_ends_are_told_and_all_else_is_kept() {
        for text in ["a\n".repeat(2_000_000), "€".repeat(100_000), "\u{1b}[0m".repeat(100_000)] {
            let long = format!("first{text}last");
            let fitted = fit(&json!({ "exitCode": 3, "output": long, "errors": "" }));
            assert!(MOST - 300 < fitted.len() && fitted.len() <= MOST, "{}", fitted.len());
            let fitted: Value = serde_json::from_str(&fitted).unwrap();
            let output = fitted["output"].as_str().unwrap();
            assert!(output.starts_with("first") && output.ends_with("last"), "{output}");
            assert!(output.contains(" bytes left out …]"));
            assert_eq!((&fitted["exitCode"], &fitted["errors"]), (&json!(3), &json!("")));
        }
        let both = fit(&json!({ "output": "o".repeat(64_000), "errors": "e".repeat(64_000) }));
        assert!(
            both.len() <= MOST && 10_000 < both.matches('e').count() && 10_000 < both.matches('o').count()
        );
    }

    #[test]
    fn of_a_long_list_both_ends_are_told() {
        let list: Vec<_> = (0..50_000).map(|number| json!({ "path": format!("src/{number}.rs") })).collect();
        let fitted = fit(&json!({ "changes": list }));
        assert!(fitted.len() <= MOST);
        let fitted: Value = serde_json::from_str(&fitted).unwrap();
        let changes = fitted["changes"].as_array().unwrap();
        assert_eq!(changes[0]["path"], "src/0.rs");
        assert_eq!(changes[changes.len() - 1]["path"], "src/49999.rs");
        let left_out = changes.iter().find_map(|change| change["leftOut"].as_u64()).unwrap();
        assert_eq!(usize::try_from(left_out).unwrap() + changes.len() - 1, 50_000);
        assert_eq!(fitted.to_string().matches("leftOut").count(), 1);
        let diffs: Vec<_> = (0..40).map(|_| json!({ "diff": "+x\n".repeat(10_000) })).collect();
        assert!(fit(&json!({ "files": diffs })).len() <= MOST);
    }

    #[test]
    fn whatever_else_is_too_long_is_cut_as_text() {
        let fields: serde_json::Map<_, _> =
            (0..9_000).map(|number| (format!("field{number}"), json!(1))).collect();
        assert!(fit(&Value::Object(fields)).len() <= MOST);
        assert_eq!(ends("abc", 3), "abc");
    }
}
