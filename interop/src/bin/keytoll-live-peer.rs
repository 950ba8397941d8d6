//! A keytoll host on real sockets, for the interoperability tests: one device or one gateway, told what to be in
//! `key=value` arguments, told what to do in lines on stdin, and telling what happens in lines on stdout.
//!
//! ```text
//!   stdin:   echo | rekey-ike | delete | probe | quit
//!   stdout:  listening, established …, usable, echo-reply, rekeyed, closed …, failed …
//!   stderr:  every fact of the trace
//! ```

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "lines on stdout and stderr are what this program is for"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;
use std::{env, io, thread};

use keytoll_crypto::{Real, keys};
use keytoll_engine::Seed;
use keytoll_engine::credentials::Credential;
use keytoll_engine::crypto::Secret;
use keytoll_engine::suite::{Suite, SuiteError};
use keytoll_engine::trace::{Fact, Trace};
use keytoll_hosts::{Command, Device, DeviceConfig, Event, Gateway, GatewayConfig, Host};
use keytoll_ike::v2::config::{Believe, ChildConfig, Connection, Pool, Prove, Reauthenticate};
use keytoll_ike::v2::{self, Config, Mode, SaId};
use keytoll_ike::wire::TrafficSelector;
use keytoll_live::{Driver, Sockets, os_seed};
use keytoll_native::clock::unix_seconds;
use keytoll_pki::{Anchors, pem};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long the driver runs before stdin is looked at again.
const LOOK_UP: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    match Arguments::read(env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("failed to run: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Sets up the host and serves until stdin ends.
fn run(arguments: &Arguments) -> Result<()> {
    let host = host(arguments, &os_seed()?)?;
    let local: IpAddr = arguments.parse("local")?;
    let ports: &[u16] = if arguments.is("ports", "500") { &[500] } else { &[500, 4500] };
    let addresses: Vec<_> = ports.iter().map(|port| SocketAddr::new(local, *port)).collect();
    let sockets = Sockets::bind(&addresses)?;
    let mut peer = LivePeer { driver: Driver::new(host, Real::default(), sockets), sas: Vec::new() };
    println!("listening");
    peer.serve(&lines());
    Ok(())
}

/// Lines of stdin as they come.
fn lines() -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        io::stdin().lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line))
    });
    lines
}

/// Facts go to stderr.
struct Stderr;

impl Trace for Stderr {
    fn record(&mut self, fact: Fact) {
        eprintln!("{fact:?}");
    }
}

struct LivePeer {
    driver: Driver<Host, Real>,
    /// The IKE SAs there are, newest last.
    sas: Vec<SaId>,
}

impl LivePeer {
    fn serve(&mut self, lines: &Receiver<String>) {
        loop {
            // Everything is told before the next line is read: what a line is about may just have come up.
            if let Some(event) = self.driver.next_event(LOOK_UP, &mut Stderr) {
                self.tell(event);
                continue;
            }
            match lines.try_recv() {
                Ok(line) if line == "quit" => return,
                Ok(line) => self.obey(&line),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn obey(&mut self, line: &str) {
        let sa = self.sas.last().copied();
        let command = match (line, sa) {
            ("echo", _) => Command::Echo { payload_bytes: 56 },
            ("rekey-ike", Some(sa)) => Command::Ike(v2::Command::RekeyIke(sa)),
            ("delete", Some(sa)) => Command::Ike(v2::Command::Delete(sa)),
            ("probe", Some(sa)) => Command::Ike(v2::Command::Probe(sa)),
            _ => return println!("failed to obey {line:?}"),
        };
        self.driver.command(command, &mut Stderr);
    }

    fn tell(&mut self, event: Event) {
        match event {
            Event::Usable => println!("usable"),
            Event::EchoReply => println!("echo-reply"),
            Event::Ike(event) => self.tell_ike(event),
        }
    }

    fn tell_ike(&mut self, event: v2::Event) {
        match event {
            v2::Event::Established(up) => {
                self.sas.push(up.sa);
                println!("established with {} by {} address {:?}", up.peer, up.suite, up.address);
            }
            v2::Event::Rekeyed { old, new } => {
                self.sas.retain(|sa| *sa != old);
                self.sas.push(new);
                println!("rekeyed");
            }
            v2::Event::Closed(closed, why) => {
                self.sas.retain(|sa| *sa != closed);
                println!("closed {why}");
            }
            v2::Event::Failed(_, why) => println!("failed {why}"),
            v2::Event::ChildFailed(_, why) => println!("failed child {why}"),
            other => println!("{other:?}"),
        }
    }
}

/// The `key=value` words of the command line.
struct Arguments(BTreeMap<String, String>);

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Result<Self> {
        let pair = |word: String| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("`{word}` is not key=value").into()),
        };
        words.map(pair).collect::<Result<_>>().map(Self)
    }

    fn get(&self, key: &str) -> Result<&str> {
        self.0.get(key).map(String::as_str).ok_or_else(|| format!("{key}=… is missing").into())
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.0.get(key).is_some_and(|found| found == value)
    }

    /// Proposals separated by commas, best first.
    fn suites(
        &self,
        key: &str,
        parse: fn(&str) -> std::result::Result<Suite, SuiteError>,
    ) -> Result<Vec<Suite>> {
        Ok(self.get(key)?.split(',').map(parse).collect::<std::result::Result<_, _>>()?)
    }

    fn parse<T: FromStr<Err: Error + 'static>>(&self, key: &str) -> Result<T> {
        Ok(self.get(key)?.parse()?)
    }
}

fn host(arguments: &Arguments, seed: &Seed) -> Result<Host> {
    let address = arguments.parse("local")?;
    match arguments.get("role")? {
        "ue" => {
            let connection = Connection { request_address: true, ..connection(arguments)? };
            let config = DeviceConfig {
                ike: config(connection, arguments),
                address,
                gateway: arguments.parse("remote")?,
                target: arguments.parse("inner")?,
                eap: None,
            };
            Ok(Host::Device(Box::new(Device::new(config, seed, "ue"))))
        }
        "gw" => {
            let pool = Pool { first: arguments.parse("pool")?, size: 100 };
            let connection = Connection { pool: Some(pool), ..connection(arguments)? };
            let inner = vec![arguments.parse("inner")?];
            let config = GatewayConfig { ike: config(connection, arguments), address, inner, aaa: None };
            Ok(Host::Gateway(Box::new(Gateway::new(config, seed, "gw"))))
        }
        other => Err(format!("role={other} is neither ue nor gw").into()),
    }
}

/// strongSwan's user-space ESP cannot do without UDP encapsulation; we need no privileges with it.
fn config(connection: Connection, arguments: &Arguments) -> Config {
    let mut config = Config { force_encapsulation: true, ..Config::new(vec![connection]) };
    if arguments.is("cookies", "always") {
        config.half_open.cookies_from = 0;
    }
    config
}

/// What both roles have in common. `inner` is the gateway's inner address, its network is what the SA is for.
fn connection(arguments: &Arguments) -> Result<Connection> {
    let (local, remote) = credentials(arguments)?;
    Ok(Connection {
        name: "interop".into(),
        local_id: arguments.parse("id")?,
        remote_id: Some(arguments.parse("peer_id")?),
        local,
        remote,
        suites: arguments.suites("ike", Suite::ike)?,
        child: if arguments.is("child", "none") { None } else { Some(child(arguments)?) },
        request_address: false,
        pool: None,
        auth_lifetime: arguments.parse("auth_lifetime_s").ok().map(Duration::from_secs),
        reauthenticate: Reauthenticate::OnDemand,
        rekey_after: None,
        liveness_after: None,
    })
}

fn child(arguments: &Arguments) -> Result<ChildConfig> {
    let network = vec![TrafficSelector::prefix(arguments.parse("inner")?, 24)];
    let (local, remote) = if arguments.get("role")? == "gw" { (network, vec![]) } else { (vec![], network) };
    let suites = arguments.suites("esp", Suite::esp)?;
    Ok(ChildConfig { suites, mode: Mode::Tunnel, local, remote, rekey_after: None })
}

fn credentials(arguments: &Arguments) -> Result<(Prove, Believe)> {
    if let Ok(secret) = arguments.get("secret") {
        let secret = Secret::from(secret.as_bytes());
        return Ok((Prove::Psk(secret.clone()), Believe::psk(secret)));
    }
    let file = |key| arguments.get(key).map(Path::new);
    let chain = pem::load_certificates(file("certificate")?)?;
    let key = keys::from_pkcs8(&pem::load_private_key(file("key")?)?)?;
    let roots = pem::load_certificates(file("root")?)?;
    let anchors = Anchors::new(roots.iter().map(Vec::as_slice), unix_seconds(), &mut Real::default())?;
    Ok((Prove::Certificate(Credential { chain: chain.into(), key }), Believe::Certificate(Arc::new(anchors))))
}
