//! `keytoll profile esp`: where the CPU time of a packet goes at the end of a tunnel.

use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use keytoll_analysis::profile::{MeasuredPackets, MeasuredSuite, Packets};
use keytoll_crypto::Real;
use keytoll_crypto_api::suite::Suite;
use keytoll_lab::{PACKET_BYTES, PacketProfiler, Way, blocks};
use keytoll_native::clock;
use keytoll_report::page;
use keytoll_scenario::catalogue::suites;
use keytoll_scenario::plan::CryptoMode;
use miette::{Report, miette};

use crate::args::ProfileArgs;
use crate::outputs::PAGE;
use crate::progress::{Counted, Progress};
use crate::screen::{Page, Usage, interrupted, note_interruption, width, written};
use crate::{interrupt, version};

/// The word in place of a method.
pub(super) const ESP: &str = "esp";

/// Paper 004 pings with as many.
pub(crate) const PACKET: u16 = 736;
/// A packet takes microseconds, so more than the paper's 25 are affordable.
pub(crate) const PACKETS: u32 = 1000;
/// The suites of paper 004, and two current ones.
const SUITES: [&str; 5] = ["3des-md5", "aes128-md5", "aes256-md5", "aes128gcm16", "chacha20poly1305"];

/// Profiles packets and shows the results.
pub(super) fn profile(args: &ProfileArgs) -> Result<ExitCode, Report> {
    without_method(args)?;
    let (packet_bytes, suites) = (length(args)?, suites_of(args)?);
    let html = Page::open(args.html.as_deref(), &PAGE)?;
    let (count, stop) = (args.count.map_or(PACKETS, NonZeroU32::get), interrupt::watch(|| {})?);
    let mut provenance = version::program().measuring(keytoll_lab::library(CryptoMode::Real));
    let mut shown = measure(packet_bytes, &suites, count, &stop)?;
    keytoll_lab::end(&mut provenance);
    shown.provenance = Some(provenance);
    shown.notes.extend(interrupted(&stop));
    note_interruption(&stop);
    if args.json {
        written(|out| keytoll_report::packets::write_json(&shown, out))?;
    } else {
        written(|out| keytoll_report::packets::write(&shown, width(), out))?;
    }
    html.map_or(Ok(()), |html| html.write_unless(&stop, |out| page::write(&page::packets(&shown), out)))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses arguments that only authentications have.
fn without_method(args: &ProfileArgs) -> Result<(), Report> {
    let given = [
        ("--node", args.node.is_some()),
        ("--network", args.network.is_some()),
        ("--set", !args.sets.is_empty()),
        ("--exponents", args.exponents.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) => {
            Err(Usage::hint(format!("`{name}` means nothing to `esp`"), "leave it out").into())
        }
        None => Ok(()),
    }
}

fn length(args: &ProfileArgs) -> Result<u16, Report> {
    let bytes = args.packet.unwrap_or(PACKET);
    if PACKET_BYTES.contains(&bytes) {
        return Ok(bytes);
    }
    let hint = format!("{} to {} bytes, IP header included", PACKET_BYTES.start(), PACKET_BYTES.end());
    Err(Usage::because(format!("an echo request of {bytes} bytes cannot be sent"), hint).into())
}

fn suites_of(args: &ProfileArgs) -> Result<Vec<Suite>, Report> {
    let names: Vec<&str> = match &args.suites[..] {
        [] => SUITES.to_vec(),
        given => given.iter().map(String::as_str).collect(),
    };
    names.into_iter().map(suite).collect()
}

/// A suite for ESP that this build supports.
pub(crate) fn suite(name: &str) -> Result<Suite, Report> {
    let suite = Suite::esp(name).map_err(|error| {
        let message = format!("`{name}` is no suite for ESP: {error}");
        Usage::hint(message, "written like `aes128gcm16` or `aes128-sha256`; see `keytoll list suites`")
    })?;
    Real::check(&suite).map_err(|lacking| {
        let message = format!("`{name}` needs {}, which this build cannot compute", lacking.0);
        Usage::hint(message, "`keytoll list suites` shows what there is")
    })?;
    Ok(suite)
}

/// Sends packets through a tunnel of each suite, in turns.
fn measure(packet_bytes: u16, chosen: &[Suite], count: u32, stop: &AtomicBool) -> Result<Packets, Report> {
    let blocks = blocks(count);
    let mut tunnels = Tunnels::new(packet_bytes, chosen, count, blocks);
    let length = tunnels.ways() as u64 * u64::from(count);
    let progress = Progress::begin(Counted { length, of: "packets", switch: "--count" });
    (0..blocks).for_each(|block| tunnels.measure(block, &|| progress.tick(), stop));
    drop(progress);
    tunnels.end()
}

/// Packets through a tunnel of each suite, measured block by block.
pub(crate) struct Tunnels {
    packet_bytes: u16,
    suites: Vec<Suite>,
    profiler: PacketProfiler,
    core_hz: f64,
}

impl Tunnels {
    /// So many packets through each, in so many blocks.
    pub(crate) fn new(packet_bytes: u16, suites: &[Suite], count: u32, blocks: u32) -> Self {
        let tunnels = suites.iter().flat_map(|&suite| [Way::Full(suite), Way::Skeleton(suite)]);
        let ways: Vec<Way> = std::iter::once(Way::Native).chain(tunnels).collect();
        let profiler = PacketProfiler::new(&ways, packet_bytes, count, blocks);
        Self { packet_bytes, suites: suites.to_vec(), profiler, core_hz: clock::core_hz() }
    }

    /// The number of ways, without IPsec included.
    const fn ways(&self) -> usize {
        1 + 2 * self.suites.len()
    }

    /// Measures a block, the first of which is 0.
    pub(crate) fn measure(&mut self, block: u32, progress: &dyn Fn(), stop: &AtomicBool) {
        self.profiler.measure(block, progress, stop);
    }

    /// The costs of each way.
    pub(crate) fn end(self) -> Result<Packets, Report> {
        let Self { packet_bytes, suites, profiler, core_hz } = self;
        let measured = profiler.end();
        let sum = |of: fn(&keytoll_lab::Packets) -> u32| measured.iter().map(of).sum();
        let notes = notes(sum(|packets| packets.repeated), sum(|packets| packets.disturbed));
        let names: Vec<String> = suites.iter().map(ToString::to_string).collect();
        let (native, tunnels) = measured.split_first().expect("the native way is always measured");
        let suites: Vec<MeasuredSuite<'_>> = suites
            .iter()
            .zip(&names)
            .zip(tunnels.chunks(2))
            .map(|((suite, name), both)| MeasuredSuite {
                suite: name,
                mark: suites::standing(suite).mark(),
                full: &both[0].costs,
                skeleton: &both[1].costs,
            })
            .collect();
        let (ticks_hz, native) = (clock::ticks_hz(), &native.costs);
        let all = MeasuredPackets { packet_bytes, ticks_hz, core_hz, native, suites: &suites };
        Packets::new(&all, notes).ok_or_else(|| miette!("interrupted before anything was measured"))
    }
}

/// Notes for the reader.
fn notes(repeated: u32, disturbed: u32) -> Vec<String> {
    let ways = "Native is the echo alone: IP and ICMP read, checked and written. Skeleton is the same tunnel with null \
                cryptography; initialization vectors are drawn in both, which is part of `header`. An AEAD does integrity in \
                `decrypt` and `encrypt`. Tunnel mode, IPv4 in IPv4.";
    let clocks = "Stages are measured on packets of their own, because reading the clock between them takes time (which is \
                  subtracted); totals are of packets without. Times are medians with 95 % intervals in brackets: of the medians of \
                  blocks of packets where there are three or more, otherwise distribution-free; cycles and shares are of medians.";
    let quiet = format!(
        "{repeated} packets during which the thread lost its CPU were measured again; {disturbed} that are counted were \
         disturbed all the same."
    );
    let bars = "The bars are the first suite's; with one `--suite` it is that one's.";
    [ways, clocks, bars].map(str::to_owned).into_iter().chain((repeated > 0).then_some(quiet)).collect()
}
