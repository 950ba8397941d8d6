//! Identification and load of this machine, as Linux reports them; figures are comparable only together with these.

use std::fs;

/// The CPU's name from `/proc/cpuinfo`, or `unknown`.
pub fn cpu_model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(field, _)| matches!(field.trim(), "model name" | "Processor" | "cpu model"))
        .map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

/// Name, release and machine of the running kernel, e.g. `Linux 6.1.0 x86_64`.
pub fn kernel() -> String {
    let names = names();
    format!("{} {} {}", text(&names.sysname), text(&names.release), text(&names.machine))
}

/// The machine's name in its network, if it has one.
pub fn host() -> Option<String> {
    Some(text(&names().nodename)).filter(|name| !name.is_empty())
}

/// The frequency governor of the first CPU, e.g. `performance`; `None` where Linux has none, as in most virtual machines.
pub fn governor() -> Option<String> {
    let name = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The load averages of one, five and fifteen minutes, where they can be read.
pub fn load_averages() -> Option<[f64; 3]> {
    averages(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// The first three numbers of a line like `0.20 0.18 0.12 1/80 11206`.
fn averages(line: &str) -> Option<[f64; 3]> {
    let mut words = line.split_ascii_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??, words.next()??])
}

fn names() -> libc::utsname {
    // SAFETY: utsname is plain arrays of bytes, for which all zeroes is a valid value; uname(2) fills them.
    unsafe {
        let mut names: libc::utsname = std::mem::zeroed();
        libc::uname(&raw mut names);
        names
    }
}

/// A C string in a fixed field.
fn text(field: &[libc::c_char]) -> String {
    field.iter().take_while(|&&c| c != 0).map(|&c| char::from(c as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_names() {
        assert!(kernel().starts_with("Linux "), "{}", kernel());
        assert!(!cpu_model().is_empty());
        assert!(host().is_none_or(|name| !name.contains(char::is_whitespace)));
    }

    #[test]
    fn load_is_read_from_its_line() {
        assert_eq!(averages("0.20 0.18 12.5 1/80 11206\n"), Some([0.2, 0.18, 12.5]));
        assert_eq!([averages(""), averages("0.20 0.18"), averages("a b c")], [None; 3]);
        assert!(load_averages().is_none_or(|averages| averages.iter().all(|load| *load >= 0.0)));
    }
}
