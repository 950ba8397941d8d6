//! Genuine hosts that ask an HSS for vectors, each on a connection of its own when the one before is gone: Diameter's side of
//! an AAA server. Read RFC 6733 §5.3, TS 29.273 §8.1.2.1.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use keytoll_crypto::Real;
use keytoll_crypto_api::Seed;
use keytoll_diameter::DIAMETER;
use keytoll_diameter::client::{self, Command, Event};
use keytoll_diameter::wire::message::length;
use keytoll_diameter::{Client, Name, Request, Wanted};
use keytoll_engine::trace::NoTrace;
use keytoll_interop::eap::IMSI;
use keytoll_live::{Driver, Sockets, Streaming};
use keytoll_net::Socket;

use crate::load::Outcome;
use crate::trouble::Result;

/// RFC 6733 §2.1.
pub(super) const PORT: u16 = 3868;
/// No answer takes longer.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// What they do.
#[derive(Debug, clap::Args)]
pub(crate) struct Inquirers {
    /// Their address.
    #[arg(long)]
    local: IpAddr,
    /// The HSS's address.
    #[arg(long)]
    remote: IpAddr,
    /// How many.
    #[arg(long)]
    count: u64,
}

/// Runs them to the end.
pub(crate) fn run(inquirers: &Inquirers) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    for number in 0..inquirers.count {
        let since = Instant::now();
        match inquire(inquirers, number)? {
            Ok(()) => outcome.succeed(Some(since)),
            Err(why) => outcome.fail(&why),
        }
    }
    Ok(outcome)
}

fn inquire(inquirers: &Inquirers, number: u64) -> Result<std::result::Result<(), String>> {
    let server = SocketAddr::new(inquirers.remote, PORT).into();
    let name = Name { host: format!("aaa{number}.lab"), realm: "lab".into() };
    let config = client::Config::new(Socket::new(inquirers.local, PORT), server, name, "lab".into());
    let client = Client::new(config, &mut Seed::system()?.stream("inquirer"));
    let sockets = Sockets::bind(&[])?.streaming(Streaming::new(DIAMETER, length), &[])?;
    let mut driver = Driver::new(client, Real::default(), sockets);
    let request = Request { imsi: IMSI.into(), wanted: Wanted::Aka, count: 1, resynchronisation: None };
    driver.command(Command::Ask { id: number, request }, &mut NoTrace);
    Ok(match driver.next_event(SILENCE_MAX, &mut NoTrace) {
        Some(Event::Answered { vectors: Ok(vectors), .. }) if vectors.len() == 1 => Ok(()),
        Some(other) => Err(format!("{other:?}")),
        None => Err("the HSS is silent".into()),
    })
}
