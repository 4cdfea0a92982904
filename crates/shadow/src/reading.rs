//! The rules for understanding what overlayfs wrote. They work on what the system said about one entry, and open
//! nothing.

/// What the system says about an entry of an upper folder, through its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryStat<'a> {
    /// `st_mode`, with the type.
    pub mode: u32,
    /// `st_rdev`.
    pub device: u64,
    /// `st_size`.
    pub len: u64,
    /// `st_nlink`.
    pub links: u64,
    /// The names of its extended attributes that begin with `user.overlay.`, without that prefix.
    pub attributes: &'a [&'a str],
    /// Whether the attribute that marks the folder as opaque has the value `y`.
    pub opaque: bool,
}

/// What an entry of an upper folder means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The entry of the layer below was removed.
    Whiteout,
    /// A folder, which hides the one in the layer below if it is `opaque`, and otherwise is merged with it.
    Directory {
        /// Whether it hides the folder below.
        opaque: bool,
        /// Its permission bits, with those for its group and for who may remove.
        mode: u32,
    },
    /// A regular file.
    File {
        /// Its permission bits.
        mode: u32,
        /// Whether it has one of the mode bits that are never staged.
        special_bits: bool,
    },
    /// A symbolic link.
    Link,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// A regular file that has several names (hard links), which a change would part.
    SeveralNames,
}

const TYPE: u32 = 0o170_000;
const SPECIAL_BITS: u32 = 0o7_000;

/// Attributes that the kernel never writes for a view, so a command must have forged them.
const REFUSED_ATTRIBUTES: [&str; 2] = ["redirect", "metacopy"];

/// What an entry means. The error says why it is refused.
pub fn classify(look: EntryStat<'_>) -> Result<Entry, String> {
    if let Some(name) = REFUSED_ATTRIBUTES.iter().find(|name| look.attributes.contains(*name)) {
        return Err(format!("it has the attribute user.overlay.{name}, which no view writes"));
    }
    match look.mode & TYPE {
        0o040_000 => Ok(Entry::Directory { opaque: look.opaque, mode: look.mode & 0o3777 }),
        0o020_000 if look.device == 0 => Ok(Entry::Whiteout),
        0o100_000 if look.len == 0 && look.attributes.contains(&"whiteout") => Ok(Entry::Whiteout),
        0o100_000 if 1 < look.links => Ok(Entry::SeveralNames),
        0o100_000 => Ok(Entry::File { mode: look.mode & 0o777, special_bits: look.mode & SPECIAL_BITS != 0 }),
        0o120_000 => Ok(Entry::Link),
        0o010_000 => Ok(Entry::Fifo),
        0o140_000 => Ok(Entry::Socket),
        0o020_000 | 0o060_000 => Ok(Entry::Device),
        other => Err(format!("it is of the unknown type {other:o}")),
    }
}

/// Whether a commit refuses a link with this target in a folder at this depth: it is absolute, it leads out of the
/// workspace, or it steps up from a name, which may be a link itself.
#[cfg(any(test, all(feature = "os", target_os = "linux")))]
pub(crate) fn leads_out(target: &[u8], folders_above: usize) -> bool {
    let mut names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let ups = names.by_ref().take_while(|name| *name == b"..").count();
    // The search for the first name behind the leading `..` has consumed that name, which cannot be `..`.
    target.starts_with(b"/") || folders_above < ups || names.any(|name| name == b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: EntryStat<'_> =
        EntryStat { mode: 0o100_644, device: 0, len: 3, links: 1, attributes: &[], opaque: false };

    #[test]
    fn entries_mean_what_the_kernel_means_by_them() {
        let file = |mode, special_bits| Entry::File { mode, special_bits };
        let cases = [
            (PLAIN, file(0o644, false)),
            (EntryStat { mode: 0o100_750, ..PLAIN }, file(0o750, false)),
            (EntryStat { mode: 0o104_755, ..PLAIN }, file(0o755, true)),
            (EntryStat { mode: 0o102_600, ..PLAIN }, file(0o600, true)),
            (EntryStat { attributes: &["origin", "impure"], ..PLAIN }, file(0o644, false)),
            (EntryStat { mode: 0o020_000, ..PLAIN }, Entry::Whiteout),
            (EntryStat { mode: 0o020_666, device: 0x103, ..PLAIN }, Entry::Device),
            (EntryStat { mode: 0o060_666, device: 0, ..PLAIN }, Entry::Device),
            (EntryStat { len: 0, attributes: &["whiteout"], ..PLAIN }, Entry::Whiteout),
            (EntryStat { attributes: &["whiteout"], ..PLAIN }, file(0o644, false)),
            (
                EntryStat { mode: 0o042_770, links: 4, ..PLAIN },
                Entry::Directory { opaque: false, mode: 0o2770 },
            ),
            (
                EntryStat { mode: 0o040_755, opaque: true, ..PLAIN },
                Entry::Directory { opaque: true, mode: 0o755 },
            ),
            (EntryStat { mode: 0o120_777, ..PLAIN }, Entry::Link),
            (EntryStat { mode: 0o010_644, ..PLAIN }, Entry::Fifo),
            (EntryStat { mode: 0o140_644, ..PLAIN }, Entry::Socket),
            (EntryStat { links: 2, ..PLAIN }, Entry::SeveralNames),
        ];
        for (look, entry) in cases {
            assert_eq!(classify(look), Ok(entry), "{look:?}");
        }
    }

    #[test]
    fn what_no_view_writes_is_an_error() {
        for attributes in [&["redirect"][..], &["origin", "metacopy"]] {
            for mode in [0o100_644, 0o040_755] {
                let said = classify(EntryStat { mode, attributes, ..PLAIN }).unwrap_err();
                assert!(said.contains("which no view writes"), "{said}");
            }
        }
        assert!(classify(EntryStat { mode: 0o644, ..PLAIN }).unwrap_err().contains("unknown type"));
    }

    #[test]
    fn links_that_lead_out_are_seen() {
        for (target, folders_above, out) in [
            (&b"a"[..], 0, false),
            (b"../a", 0, true),
            (b"../a", 1, false),
            (b"a/../../b", 0, true),
            (b"a/../b", 4, true),
            (b"../../a/b", 2, false),
            (b".././a", 1, false),
            (b"./..//..", 1, true),
            (b"/etc/passwd", 5, true),
            (b"", 0, false),
        ] {
            assert_eq!(leads_out(target, folders_above), out, "{}", target.escape_ascii());
        }
    }
}
