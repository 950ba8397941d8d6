//! Many devices in one process: IKEv2 initiators that keep a number of handshakes in flight, see that each is really
//! established, and delete it again. Read RFC 7296 §1.2, §1.4.1.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use keytoll_crypto::Real;
use keytoll_crypto_api::Seed;
use keytoll_engine::trace::{Fact, Trace};
use keytoll_ike::v2::Endpoint;
use keytoll_ike::{Command, Event};
use keytoll_live::{Driver, Sockets};

use crate::ike::{Auth, config};
use crate::load::{Load, Outcome};
use crate::trouble::Result;

/// No handshake that is going on takes as long as this.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// What the devices do.
#[derive(Debug, clap::Args)]
pub(crate) struct Devices {
    /// Their address.
    #[arg(long)]
    local: IpAddr,
    /// The gateway's address.
    #[arg(long)]
    remote: IpAddr,
    /// The IKE suite.
    #[arg(long)]
    ike: String,
    /// The ESP suite, or none for childless SAs (RFC 6023).
    #[arg(long)]
    esp: Option<String>,
    /// The directory of certificates; without it there is a shared key.
    #[arg(long)]
    pki: Option<PathBuf>,
    #[command(flatten)]
    load: Load,
}

/// Runs them to the end.
pub(crate) fn run(devices: &Devices) -> Result<Outcome> {
    let auth = Auth::load(devices.pki.as_deref())?;
    let config = config(&auth, &devices.ike, devices.esp.as_deref())?;
    let endpoint = Endpoint::new(config, Seed::system()?.stream("devices"));
    let sockets = Sockets::bind(&[500, 4500].map(|port| SocketAddr::new(devices.local, port)))?;
    let mut crowd = Crowd {
        driver: Driver::new(endpoint, Real::default(), sockets),
        route: (devices.local, devices.remote),
        childless: devices.esp.is_none(),
        seen: Repeated::default(),
        outcome: Outcome::default(),
        alone_since: None,
        closed: 0,
    };
    let (begin, cpu_before) = (Instant::now(), own_cpu_ns());
    crowd.serve(&devices.load)?;
    let spent = own_cpu_ns() - cpu_before;
    Ok(Outcome {
        wall_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
        cpu_ns: spent,
        retransmissions: crowd.seen.0,
        ..crowd.outcome
    })
}

/// What this thread, which does everything, has used so far; /proc would not know of what it uses just now.
pub(crate) fn own_cpu_ns() -> u64 {
    keytoll_native::clock::thread_cpu_ns()
}

/// Counts what had to be said again.
#[derive(Default)]
struct Repeated(u64);

impl Trace for Repeated {
    fn record(&mut self, fact: Fact) {
        if matches!(fact, Fact::Sent(message) if message.retransmission) {
            self.0 += 1;
        }
    }
}

struct Crowd {
    driver: Driver<Endpoint, Real>,
    route: (IpAddr, IpAddr),
    childless: bool,
    seen: Repeated,
    outcome: Outcome,
    /// When the only handshake there is began.
    alone_since: Option<Instant>,
    /// SAs that the gateway agreed to delete.
    closed: u64,
}

impl Crowd {
    fn serve(&mut self, load: &Load) -> Result<()> {
        let mut started = 0;
        while self.over() < load.count {
            while started < load.count && started - self.over() < load.window {
                self.alone_since = (load.window == 1).then(Instant::now);
                self.initiate();
                started += 1;
            }
            let event = self.driver.next_event(SILENCE_MAX, &mut self.seen);
            let Some(event) = event else {
                return Err(format!("the gateway fell silent after {:?}", self.outcome).into());
            };
            self.on_event(event);
        }
        Ok(())
    }

    /// Those that have come and gone, or failed.
    const fn over(&self) -> u64 {
        self.closed + self.outcome.failed
    }

    fn initiate(&mut self) {
        let (local, remote) = self.route;
        self.driver.command(Command::Initiate { connection: 0, local, remote }, &mut self.seen);
    }

    /// An SA counts when both sides have proved themselves, its child is there if one was wanted, and the peer has
    /// agreed to delete it.
    fn on_event(&mut self, event: Event) {
        match event {
            Event::Established(up) if self.childless => {
                self.outcome.succeed(self.alone_since);
                self.driver.command(Command::Delete(up.sa), &mut self.seen);
            }
            Event::ChildUp(sa, _) => {
                self.outcome.succeed(self.alone_since);
                self.driver.command(Command::Delete(sa), &mut self.seen);
            }
            Event::Closed(..) => self.closed += 1,
            Event::Failed(_, why, _) => self.outcome.fail(why.name()),
            Event::ChildFailed(sa, why) => {
                // Its end counts when it is closed.
                self.outcome.why = Some(why.name().to_owned());
                self.driver.command(Command::Delete(sa), &mut self.seen);
            }
            _ => {}
        }
    }
}
