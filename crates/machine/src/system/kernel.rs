/// The name and version of the system's kernel.
pub struct Kernel {
    pub name: String,
    pub release: String,
    pub(crate) version: String,
}

impl Kernel {
    #[cfg(unix)]
    pub fn of_system() -> Self {
        let kernel = rustix::system::uname();
        Self {
            name: kernel.sysname().to_string_lossy().into_owned(),
            release: kernel.release().to_string_lossy().into_owned(),
            version: kernel.version().to_string_lossy().into_owned(),
        }
    }

    /// Only the name, because the version of Windows is not known without calls that are not safe.
    #[cfg(windows)]
    pub(crate) fn of_system() -> Self {
        Self { name: "Windows".to_owned(), release: String::new(), version: String::new() }
    }
}
