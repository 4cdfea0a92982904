use headstart_overlay_fs::{EntryKind, Tree, WorkspacePath};

use crate::{ToolContext, ToolError};

/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How many bytes of a file are looked at to tell text from binary.
const SNIFFED_BYTES: usize = 8_000;

/// Whether the content is binary: it has a NUL among the first bytes, which is git's rule. By this rule UTF-16 is
/// binary.
pub(crate) fn is_binary(content: &[u8]) -> bool {
    content[..content.len().min(SNIFFED_BYTES)].contains(&0)
}

/// The content of the text file at a path.
pub(crate) async fn read_text(path: &WorkspacePath, context: ToolContext<'_>) -> Result<Vec<u8>, ToolError> {
    let metadata = context.view.metadata(path).await?;
    let refused = |message: String| Err(ToolError::failed(message));
    match metadata.kind {
        EntryKind::File => {}
        EntryKind::Directory => return refused(format!("{path} is a directory; ls shows what is in it")),
        EntryKind::Symlink | EntryKind::Other => {
            return refused(format!("{path} is not a regular file (a device, socket or pipe)"));
        }
    }
    let limit = context.limits.file_bytes;
    if metadata.len > limit {
        return refused(format!(
            "{path} has {} bytes, more than the limit of {limit}; a command such as sed -n '1,100p' shows a part",
            metadata.len
        ));
    }
    let bytes = context.view.read(path).await?;
    if is_binary(&bytes) {
        return refused(format!(
            "{path} is a binary file ({} bytes; text in UTF-16 counts as binary)",
            bytes.len()
        ));
    }
    Ok(bytes)
}
