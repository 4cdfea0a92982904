//! Whether this machine has spare capacity for a model that runs on it.

use std::fs;
use std::path::{Path, PathBuf};

use headstart_budget::policy::SkipReason;

use crate::environment::Environment;

/// The highest load of the last minute, per processor, at which more work is started. A model that works for the user
/// counts one for each processor.
const MAX_LOAD: f64 = 2.0;

/// On a busy machine a command may take at most so many times as long as on one that is not.
const MAX_SLOWDOWN: f64 = 10.0;

/// The folder in which the kernel describes the state of the machine. If it says nothing, nothing prevents work.
#[derive(Debug, Clone)]
pub struct Machine {
    root: PathBuf,
    processors: f64,
}

/// The variable by which a test names a folder that is to be the machine.
const MACHINE: &str = "HEADSTART_MACHINE";

impl Machine {
    /// This machine. A test uses another folder as the root.
    pub fn of(environment: &Environment) -> Self {
        let root = environment.get(MACHINE).map_or_else(|| PathBuf::from("/"), PathBuf::from);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { root, processors: f64::from(u32::try_from(processors).unwrap_or(u32::MAX)) }
    }

    /// Whether a test has named another folder as the machine.
    pub(crate) fn is_of_a_test(environment: &Environment) -> bool {
        environment.get(MACHINE).is_some()
    }

    /// Why the machine has no spare capacity; `None` if it has.
    pub fn trouble(&self) -> Option<SkipReason> {
        if self.is_on_battery() {
            return Some(SkipReason::Battery);
        }
        let load = self.load()?;
        (MAX_LOAD * self.processors < load).then_some(SkipReason::Load)
    }

    /// How many times as long as usual a command takes by the load of the last minute, so that a limit of time ends what
    /// hangs, and not what waits for a processor.
    pub(crate) fn slowdown(&self) -> f64 {
        (self.load().unwrap_or_default() / self.processors).clamp(1.0, MAX_SLOWDOWN)
    }

    /// The memory of the machine, in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        let text = fs::read_to_string(self.root.join("proc/meminfo")).ok()?;
        let row = text.lines().find_map(|row| row.strip_prefix("MemTotal:"))?;
        row.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    }

    /// Whether a battery is discharging and there is no other power supply.
    fn is_on_battery(&self) -> bool {
        let Ok(supplies) = fs::read_dir(self.root.join("sys/class/power_supply")) else { return false };
        let mut discharges = false;
        for supply in supplies.flatten().map(|supply| supply.path()) {
            match word(&supply, "type").as_deref() {
                // This is the battery of a mouse or a headset.
                Some("Battery") if word(&supply, "scope").as_deref() == Some("Device") => {}
                Some("Battery") => discharges |= word(&supply, "status").as_deref() == Some("Discharging"),
                Some("Mains" | "USB") if word(&supply, "online").as_deref() == Some("1") => return false,
                _ => {}
            }
        }
        discharges
    }

    /// The average number of processes that wanted a processor in the last minute.
    fn load(&self) -> Option<f64> {
        let text = fs::read_to_string(self.root.join("proc/loadavg")).ok()?;
        text.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
    }
}

fn word(supply: &Path, file: &str) -> Option<String> {
    fs::read_to_string(supply.join(file)).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        let machine = Machine { root: root.path().to_owned(), processors: 4.0 };
        (root, machine)
    }

    #[test]
    fn a_busy_machine_takes_longer() {
        let slowdown = |load: &str| format!("{:.1}", machine(&[("proc/loadavg", load)]).1.slowdown());
        let loads = ["0.10 0.2 0.3 1/200 4711", "12.00 9 8 1/2 3", "400.0 1 1 1/1 1", "odd"];
        assert_eq!(loads.map(slowdown), ["1.0", "3.0", "10.0", "1.0"]);
    }

    #[test]
    fn work_on_battery_or_under_load_is_left_out() {
        const AC: &str = "sys/class/power_supply/AC/";
        const BAT: &str = "sys/class/power_supply/BAT0/";
        let supply = |folder: &str, fields: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
            fields.iter().map(|(name, value)| (format!("{folder}{name}"), *value)).collect()
        };
        let battery = |status| supply(BAT, &[("type", "Battery"), ("status", status)]);
        let mains = |online| supply(AC, &[("type", "Mains"), ("online", online)]);
        let load = |load| vec![("proc/loadavg".to_owned(), load)];
        let cases = [
            (vec![], None),
            (load("0.10 0.2 0.3 1/200 4711"), None),
            (load("8.00 0.2 0.3 1/200 4711"), None),
            (load("8.01 0.2 0.3 1/200 4711"), Some(SkipReason::Load)),
            (load("much"), None),
            (battery("Discharging"), Some(SkipReason::Battery)),
            (battery("Charging"), None),
            (battery("Full"), None),
            ([battery("Discharging"), mains("0")].concat(), Some(SkipReason::Battery)),
            // The battery discharges although there is a power supply, which is too weak.
            ([battery("Discharging"), mains("1")].concat(), None),
            ([battery("Discharging"), supply(BAT, &[("scope", "Device")])].concat(), None),
            (mains("1"), None),
        ];
        for (files, expected) in cases {
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            let (_root, machine) = machine(&files);
            assert_eq!(machine.trouble(), expected, "{files:?}");
        }
    }
}
