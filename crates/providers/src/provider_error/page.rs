//! Extracts the words of a web page, with which a proxy, a login or a load balancer may answer a program.

use std::borrow::Cow;

/// The words of a page: its title, or else its text. A text that is not a page stays as it is.
pub(super) fn page_text(body: &str) -> Cow<'_, str> {
    if !is_page(body) {
        return Cow::Borrowed(body);
    }
    let words = element(body, "title").filter(|title| !title.trim().is_empty());
    let words = words.map_or_else(|| text_outside_tags(body), text_outside_tags);
    if words.is_empty() { "a web page".into() } else { format!("a web page: {words}").into() }
}

/// Whether a body is a web page, whatever its media type says.
pub(crate) fn is_page(body: &str) -> bool {
    let start = body.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    ["<!doctype", "<html", "<head", "<body", "<title", "<h1", "<center", "<?xml"]
        .iter()
        .any(|opening| starts_with(start, opening))
}

/// The text between the tags of the first element of this name.
fn element<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let tag = find(page, &format!("<{name}"))?;
    let inside = &page[tag + page[tag..].find('>')? + 1..];
    Some(&inside[..find(inside, &format!("</{name}"))?])
}

/// The text outside tags, without scripts and styles.
fn text_outside_tags(page: &str) -> String {
    let mut words = String::new();
    let mut rest = page;
    while let Some(tag) = rest.find('<') {
        words.extend([&rest[..tag], " "]);
        rest = &rest[tag..];
        let hidden = ["script", "style", "!--"].into_iter().find(|name| starts_with(&rest[1..], name));
        let end = match hidden {
            Some("!--") => rest.find("-->").map(|end| end + "-->".len()),
            Some(name) => {
                find(rest, &format!("</{name}")).and_then(|end| Some(end + rest[end..].find('>')? + 1))
            }
            None => rest.find('>').map(|end| end + 1),
        };
        rest = end.map_or("", |end| &rest[end..]);
    }
    words.push_str(rest);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn find(text: &str, part: &str) -> Option<usize> {
    text.char_indices().map(|(place, _)| place).find(|place| starts_with(&text[*place..], part))
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proxies answer with web pages. Their title, or else their text, says what is wrong.
    #[test]
    fn a_page_says_its_title_or_its_text() {
        let cases = [
            ("busy", "busy"),
            ("<3 requests", "<3 requests"),
            (
                "\n<!DOCTYPE html><HTML><head><Title lang=en>502 Bad\nGateway</title></head><body>x",
                "a web page: 502 Bad Gateway",
            ),
            ("<html>Monkeys only</html>", "a web page: Monkeys only"),
            ("<html><script>var a = '<b>';</script><!-- c > d --><p>Log <b>in</b>", "a web page: Log in"),
            ("<html><style>p { }", "a web page"),
            ("<html><title></title><h1>Ö</h1", "a web page: Ö"),
            ("<title>", "a web page"),
            ("<html>ü<", "a web page: ü"),
        ];
        for (body, expected) in cases {
            assert_eq!(page_text(body), expected, "{body:?}");
        }
    }

    #[test]
    fn any_text_is_read() {
        let pieces = ["<", ">", "<title", "</title", "<script", "</script", "<!--", "-->", "ü", "html", " "];
        for number in 0..pieces.len().pow(4) {
            let body: String =
                (0..4_u32).map(|place| pieces[number / pieces.len().pow(place) % pieces.len()]).collect();
            page_text(&format!("<html>{body}"));
            page_text(&format!("<title{body}"));
        }
    }
}
