//! Pages of memory, as the kernel has them. proc_pid_status(5).

use std::fs;

#[test]
fn huge_pages_are_off_once_small_ones_are_asked_for() {
    keytoll_live::small_pages();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
    assert_eq!(line.map(str::trim), Some("0"));
}
