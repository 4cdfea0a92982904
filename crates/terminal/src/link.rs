//! Links, and whether their text shows where they lead.

use std::sync::Arc;

use url::Url;

/// The most bytes of an address that terminals accept.
const MAX_BYTES: usize = 2_000;
/// The code that ends a link.
pub(super) const END: &str = "\x1b]8;;\x1b\\";

/// An address that a terminal may be told to open: of the web or of mail, without a user name, and made of visible
/// ASCII characters only, so that nothing in it ends the code around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    address: Arc<str>,
}

impl Link {
    /// Checks an address; `None` for any other address, which is shown as text.
    pub(super) fn of(address: &str) -> Option<Self> {
        // The URL parser removes such characters and reads a backslash as a slash, so the address would lead to another
        // place than its text says.
        if MAX_BYTES < address.len()
            || address.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\')
        {
            return None;
        }
        let url = Url::parse(address).ok()?;
        let is_taken = match url.scheme() {
            "http" | "https" => url.has_host() && url.username().is_empty() && url.password().is_none(),
            // A query could name further recipients.
            "mailto" => url.query().is_none(),
            _ => false,
        };
        let address = url.as_str();
        let is_harmless = address.len() <= MAX_BYTES && address.bytes().all(|byte| byte.is_ascii_graphic());
        (is_taken && is_harmless).then(|| Self { address: address.into() })
    }

    /// The address that the terminal opens. A host in other scripts is in its ASCII form.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The code that begins the link.
    pub(super) fn code(&self) -> String {
        format!("\x1b]8;;{}\x1b\\", self.address)
    }

    /// Whether a text is the beginning of the address, including the whole host. Similar letters of other scripts do
    /// not match, because they are not ASCII.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let without_scheme = |text: &str| {
            let text = text.strip_prefix("mailto:").unwrap_or(text);
            text.split_once("://").map_or(text, |(_, rest)| rest).to_owned()
        };
        let (shown, address) = (without_scheme(text), without_scheme(&self.address));
        let host = |text: &str| text.find(['/', '?', '#']).unwrap_or(text.len());
        let (shown_host, shown_path) = shown.split_at(host(&shown));
        let (host, path) = address.split_at(host(&address));
        let ends = |path: &str, rest: &str| {
            path.ends_with('/') || rest.is_empty() || rest.starts_with(['/', '?', '#'])
        };
        shown_host.eq_ignore_ascii_case(host)
            && path.strip_prefix(shown_path).is_some_and(|rest| ends(shown_path, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_addresses_that_can_do_no_harm_are_links() {
        for (address, expected) in [
            ("https://example.org/a?b=c#d", Some("https://example.org/a?b=c#d")),
            ("HTTP://Example.org", Some("http://example.org/")),
            ("mailto:a@example.org", Some("mailto:a@example.org")),
            ("https://example.org/K\u{e4}se\"<>`", Some("https://example.org/K%C3%A4se%22%3C%3E%60")),
            // A Cyrillic letter, and a host that only looks as if a path followed it.
            ("https://\u{430}pple.com/", Some("https://xn--pple-43d.com/")),
            ("https://good.com\\@evil.com", None),
            ("https://good.com@evil.com/", None),
            ("https://user:word@evil.com/", None),
            ("mailto:a@example.org?bcc=b@evil.com", None),
            ("javascript:alert(1)", None),
            ("java\nscript:alert(1)", None),
            (" https://example.org", None),
            ("https://exam\tple.org", None),
            ("https://example.org/\u{1b}]8;;https://evil.com\u{1b}\\", None),
            ("https://example.org/\u{7}\u{1b}]0;title\u{7}", None),
            ("https://example.org/\u{9c}", None),
            ("file:///etc/passwd", None),
            ("file://evil.com/share", None),
            ("data:text/html,x", None),
            ("vscode://file/x", None),
            ("ssh://-oProxyCommand=x", None),
            ("src/lib.rs", None),
            ("//evil.com", None),
            ("https://", None),
            ("", None),
        ] {
            let link = Link::of(address);
            assert_eq!(link.as_ref().map(Link::address), expected, "{address:?}");
        }
        assert_eq!(Link::of(&format!("https://example.org/{}", "a".repeat(MAX_BYTES))), None);
        // This address becomes longer when it is written in ASCII.
        assert_eq!(Link::of(&format!("https://example.org/{}", "\u{e4}".repeat(MAX_BYTES / 3))), None);
    }

    #[test]
    fn a_text_says_where_its_link_leads_by_the_host_and_the_beginning_of_the_path() {
        for (text, address, expected) in [
            ("https://example.org/a", "https://example.org/a", true),
            ("https://example.org", "https://example.org/", true),
            ("example.org", "https://example.org/a/b", true),
            ("Example.ORG/a", "https://example.org/a/b", true),
            ("example.org/a/", "https://example.org/a/b", true),
            ("example.org:8080", "http://example.org:8080/", true),
            ("a@example.org", "mailto:a@example.org", true),
            ("good.com", "https://evil.com/", false),
            ("good.com", "https://good.com.evil.com/", false),
            ("good.com", "https://evil.com/good.com", false),
            ("good.com/a", "https://good.com/b", false),
            ("good.com/a", "https://good.com/admin", false),
            ("https://good.com", "https://evil.com/https://good.com", false),
            ("evil.com/ is really good.com", "https://evil.com/", false),
            ("good.com@evil.com", "https://evil.com/", false),
            ("\u{430}pple.com", "https://\u{430}pple.com/", false),
            ("b@example.org", "mailto:a@example.org", false),
            ("the documentation", "https://example.org/", false),
            ("", "https://example.org/", false),
        ] {
            assert_eq!(Link::of(address).unwrap().is_named_in(text), expected, "{text} {address}");
        }
    }

    proptest! {
        #[test]
        fn no_code_is_in_a_code(address in "(https?://|mailto:|)(\\PC|[\\x00-\\x9f]){0,30}") {
            let Some(link) = Link::of(&address) else { return Ok(()) };
            let code = link.code();
            let inner = code.strip_prefix("\x1b]8;;").and_then(|code| code.strip_suffix("\x1b\\"));
            prop_assert!(inner.is_some_and(|inner| inner.bytes().all(|byte| byte.is_ascii_graphic())));
        }
    }
}
