//! A host's connection to an HSS, whoever the host is: an AAA server, or a gateway that asks by itself.

use keytoll_crypto_api::Rng;
use keytoll_diameter::Request;
use keytoll_diameter::client::{self, Client};
use keytoll_engine::{Ctx, Deadline, Engine, Input, Output, Time};
use keytoll_net::Addr;

/// A Diameter client that connects before the first question; later it connects with the next one.
#[derive(Debug)]
pub struct HssClient {
    client: Client,
    port: u16,
    has_connected: bool,
}

impl HssClient {
    /// A client that is not connected yet.
    pub fn new(config: client::Config, rng: &mut Rng) -> Self {
        Self { port: config.local.port, has_connected: false, client: Client::new(config, rng) }
    }

    /// Whether a datagram to this address is for this client.
    pub const fn owns(&self, to: Addr) -> bool {
        matches!(to, Addr::Tcp(to) if to.port == self.port)
    }

    /// Asks for vectors; the answer comes under the same number.
    pub fn ask(&mut self, id: u64, request: Request, cx: &mut Ctx<'_>) {
        self.handle(Input::Command(client::Command::Ask { id, request }), cx);
    }

    /// Processes an input; the first one of all lets it connect.
    pub fn handle(&mut self, input: Input<'_, client::Command>, cx: &mut Ctx<'_>) {
        if !std::mem::replace(&mut self.has_connected, true) {
            self.client.handle(Input::Command(client::Command::Connect), cx);
        }
        self.client.handle(input, cx);
    }

    /// The next output of the client.
    pub fn poll(&mut self) -> Option<Output<client::Event>> {
        self.client.poll()
    }

    /// When it wants to be called next.
    pub fn deadline(&self) -> Option<Deadline> {
        let connect = Deadline { at: Time::ZERO, why: "diameter connect" };
        if self.has_connected { self.client.deadline() } else { Some(connect) }
    }

    /// The number of unanswered questions.
    pub fn outstanding(&self) -> usize {
        self.client.outstanding()
    }
}
