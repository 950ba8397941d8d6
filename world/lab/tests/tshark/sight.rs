//! A capture as tshark sees it, with the profile beside it and every check of a checksum switched on.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is asked of every frame.
const FIELDS: &[&str] = &[
    "frame.interface_name",
    "frame.comment",
    "_ws.malformed",
    "_ws.expert.severity",
    "_ws.expert.message",
    "ip.version",
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "icmpv6.checksum.status",
    "isakmp.exchangetype",
    "isakmp.enc.data",
    "isakmp.enc.decrypted",
    "isakmp.typepayload",
    "esp.spi",
    "esp.icv_good",
    "icmp.type",
    "icmpv6.type",
    "eap.type",
    "tls.handshake.type",
    "radius.code",
    "radius.authenticator.valid",
    "diameter.cmd.code",
    "hip.packet_type",
    "hip.checksum.status",
];

/// tshark's checksum status of a sum that is right.
pub(crate) const GOOD: &str = "1";
/// PI_COMMENT and PI_CHAT of Wireshark's epan/proto.h: what it says without finding fault.
const NO_FAULT: [&str; 2] = ["1048576", "2097152"];

/// The fields of one frame, each with all its values.
#[derive(Debug)]
pub(crate) struct Frame(BTreeMap<&'static str, Vec<String>>);

impl Frame {
    fn read(line: &str) -> Self {
        let values = line.split('\t').map(|values| values.split('|').filter(|value| !value.is_empty()));
        let fields = FIELDS.iter().copied().zip(values);
        Self(fields.map(|(name, values)| (name, values.map(str::to_owned).collect())).collect())
    }

    pub(crate) fn values(&self, field: &'static str) -> &[String] {
        assert!(FIELDS.contains(&field), "{field} is asked for");
        self.0.get(field).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn has(&self, field: &'static str, value: &str) -> bool {
        self.values(field).iter().any(|found| found == value)
    }

    pub(crate) fn is_there(&self, field: &'static str) -> bool {
        !self.values(field).is_empty()
    }

    pub(crate) fn comment(&self) -> &str {
        self.values("frame.comment").first().map_or("", String::as_str)
    }
}

/// Whether tshark is here; a machine of the gate must have it.
pub(crate) fn is_installed() -> bool {
    let is_there =
        Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(is_there || std::env::var_os("CI").is_none(), "install tshark");
    if !is_there {
        println!("SKIPPED: install tshark (Debian's package of that name)");
    }
    is_there
}

/// Every frame of a capture; what tshark complains of stops the test.
pub(crate) fn frames(capture: &Path) -> Vec<Frame> {
    let mut command = Command::new("tshark");
    command.env("WIRESHARK_CONFIG_DIR", capture.with_extension("keys")).args(["-n", "-r"]).arg(capture);
    command.args(["-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]);
    FIELDS.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = errors.lines().filter(|line| !line.starts_with("Running as user")).collect();
    assert!(output.status.success() && complaints.is_empty(), "{}: {complaints:?}", capture.display());
    String::from_utf8_lossy(&output.stdout).lines().map(Frame::read).collect()
}

/// Writes one capture of several, with the tables of all: tshark takes a quarter of a second to start. Their conversations must differ in their
/// SPIs.
pub(crate) fn joined(captures: &[PathBuf], into: &Path) {
    let keys = into.with_extension("keys");
    fs::create_dir(&keys).unwrap();
    for capture in captures {
        append(capture, into);
        for table in fs::read_dir(capture.with_extension("keys")).unwrap() {
            append(&table.unwrap().path(), &keys);
        }
    }
}

/// Appends a file to another, or to the one of this name in a directory. A pcapng file may have several sections, and of a preference the last counts.
fn append(from: &Path, to: &Path) {
    let to = if to.is_dir() { to.join(from.file_name().unwrap()) } else { to.to_owned() };
    let mut to = OpenOptions::new().create(true).append(true).open(to).unwrap();
    io::copy(&mut fs::File::open(from).unwrap(), &mut to).unwrap();
}

/// Asserts that every checksum is right, nothing is malformed, and of what tshark finds worth a note, all is in `expected`.
pub(crate) fn sound(name: &str, frames: &[Frame], expected: &[&str]) {
    for (index, frame) in frames.iter().enumerate() {
        let at = || format!("{name}, frame {}: {frame:?}", index + 1);
        assert!(!frame.is_there("_ws.malformed"), "{}", at());
        for field in
            ["ip.checksum.status", "udp.checksum.status", "tcp.checksum.status", "icmpv6.checksum.status"]
        {
            assert!(frame.values(field).iter().all(|status| status == GOOD), "{}", at());
        }
        let is_v4 = frame.has("ip.version", "4");
        assert_eq!(is_v4, frame.is_there("ip.checksum.status"), "every IPv4 header is checked: {}", at());
        let faults = frame.values("_ws.expert.severity").iter().zip(frame.values("_ws.expert.message"));
        let mut faults = faults.filter(|(severity, _)| !NO_FAULT.contains(&severity.as_str()));
        let is_known = |message: &str| expected.iter().any(|known| message.starts_with(known));
        assert!(faults.all(|(_, message)| is_known(message)), "{}", at());
    }
}
