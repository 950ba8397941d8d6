//! Attackers that call an HSS from hosts it does not admit, and say nothing, nonsense or who they are. Read RFC 6733 §5.3.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use keytoll_crypto::Real;
use keytoll_crypto_api::Seed;
use keytoll_diameter::{Client, Name, client};
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Engine, Input, Output, Time};
use socket2::{Domain, Socket, Type};

use super::attacker::{Attacker, Greedy};
use super::inquirers::PORT;
use super::tally::Tally;
use crate::trouble::Result;

/// Long enough to sleep, short enough to keep the rate.
const PATIENCE: Duration = Duration::from_millis(1);
/// Nobody waits longer for a connection.
const CONNECT_WITHIN: Duration = Duration::from_millis(200);
/// What the system lets one process have, less a few.
const OPEN_MAX: usize = 900;

/// All of them.
pub(super) struct Callers {
    from: Vec<Ipv4Addr>,
    to: SocketAddr,
    /// Nothing, nonsense, and a Capabilities-Exchange-Request.
    greetings: [Vec<u8>; 3],
    open: Vec<(u64, TcpStream)>,
}

impl Callers {
    pub(super) fn new(attacker: &Attacker) -> Result<Self> {
        let to = SocketAddr::new(attacker.to, PORT);
        let from = attacker.from.clone();
        let first = *from.first().ok_or("no address to call from")?;
        let greetings = [Vec::new(), vec![0x5a; 64], capabilities(first.into(), to)?];
        Ok(Self { from, to, greetings, open: Vec::new() })
    }

    fn call(&self, number: usize) -> std::io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let from = self.from[number % self.from.len()];
        socket.bind(&SocketAddr::from((from, 0)).into())?;
        socket.connect_timeout(&self.to.into(), CONNECT_WITHIN)?;
        let mut stream = TcpStream::from(socket);
        stream.set_nonblocking(true)?;
        // In another order for each address.
        let greeting = &self.greetings[number / self.from.len() % self.greetings.len()];
        stream.write_all(greeting)?;
        Ok(stream)
    }
}

/// A Capabilities-Exchange-Request of a host that means it.
fn capabilities(from: IpAddr, to: SocketAddr) -> Result<Vec<u8>> {
    let name = Name { host: "stranger.lab".into(), realm: "lab".into() };
    let config = client::Config::new(keytoll_net::Socket::new(from, PORT), to.into(), name, "lab".into());
    let mut client = Client::new(config, &mut Seed::system()?.stream("stranger"));
    let mut crypto = Real::default();
    let mut cx = Ctx { now: Time::ZERO, crypto: &mut crypto, trace: &mut NoTrace };
    client.handle(Input::Command(client::Command::Connect), &mut cx);
    match client.poll() {
        Some(Output::Datagram(datagram)) => Ok(datagram.bytes),
        other => Err(format!("no Capabilities-Exchange-Request: {other:?}").into()),
    }
}

impl Greedy for Callers {
    fn ask(&mut self, tally: &mut Tally) -> Result<()> {
        if self.open.len() >= OPEN_MAX {
            return Ok(());
        }
        let number = tally.tried;
        match self.call(usize::try_from(number)?) {
            Ok(stream) => {
                tally.take(number);
                self.open.push((number, stream));
            }
            Err(why) => tally.refuse(&format!("not connected: {}", why.kind())),
        }
        Ok(())
    }

    fn listen(&mut self, tally: &mut Tally) -> Result<()> {
        self.open.retain_mut(|(number, stream)| match ended(stream) {
            None => true,
            Some(why) => {
                tally.lose(*number);
                tally.refuse(why);
                false
            }
        });
        sleep(PATIENCE);
        Ok(())
    }
}

/// How the HSS has ended a connection, if it has.
fn ended(stream: &mut TcpStream) -> Option<&'static str> {
    let mut answer = [0; 1024];
    loop {
        match stream.read(&mut answer) {
            Ok(0) => return Some("hung up"),
            Ok(_) => {}
            Err(why) if why.kind() == ErrorKind::WouldBlock => return None,
            Err(_) => return Some("reset"),
        }
    }
}
