use std::io;
use std::path::{Path, PathBuf};

/// The absolute path of a file or folder that exists, without links. On Windows its names are separated by `/` and it
/// begins with its drive, so that its text is one that people and models write.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    Ok(if cfg!(windows) { real.to_str().map(as_written).map_or(real.clone(), PathBuf::from) } else { real })
}

/// A path of Windows without the prefix by which the system is told to take it literally.
fn as_written(real: &str) -> String {
    let path = match (real.strip_prefix(r"\\?\UNC\"), real.strip_prefix(r"\\?\")) {
        (Some(share), _) => format!("//{share}"),
        (None, Some(path)) => path.to_owned(),
        (None, None) => real.to_owned(),
    };
    path.replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_windows_is_as_people_write_it() {
        assert_eq!(as_written(r"\\?\C:\Users\ada\a b"), "C:/Users/ada/a b");
        assert_eq!(as_written(r"\\?\UNC\server\share\p"), "//server/share/p");
        assert_eq!(as_written(r"C:\p"), "C:/p");
    }

    #[test]
    fn a_path_that_does_not_exist_is_an_error() {
        assert!(real_path(Path::new("no such folder")).is_err());
        assert!(real_path(&std::env::temp_dir()).unwrap().is_absolute());
    }
}
