//! Instructions of a piece of work, as callgrind counts them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The instructions of this program from where it calls `yardstick::counted` until that returns.
///
/// # Panics
/// If there is no valgrind, or it counts nothing.
pub(crate) fn count(work: &str) -> u64 {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("callgrind.{}", work.replace(' ', "-")));
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=yardstick::counted*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().expect("Linux tells which program this is"))
        .args(["--work", work])
        .stdout(Stdio::null())
        .status()
        .expect("`apt-get install valgrind` installs what counts");
    assert!(status.success(), "{work} under valgrind: {status}");
    let counted = fs::read_to_string(&out).expect("valgrind has written it");
    fs::remove_file(&out).expect("it is ours");
    let total =
        counted.lines().find_map(|line| line.strip_prefix("totals: ")).expect("callgrind ends with totals");
    let total = total.trim().parse().expect("one kind of event is counted");
    assert!(total > 0, "{work}: callgrind has not seen where it begins");
    total
}
