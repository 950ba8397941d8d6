//! ryke's IKEv1: aggressive mode with a shared key, then quick mode (RFC 2409 §5.4, §5.5), and echoes through the SA at port 4500.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use ryke::ikev1::payloads::{Id, id_type};
use ryke::ikev1::phase1::{InitiatorConfig, Phase1Config};
use ryke::ikev1::{Client, Server, ServerEvent};
use ryke::{ChildSa, DhGroup, OsEntropy};

use crate::Outcome;
use crate::server::serve_echoes;
use crate::settings::Settings;
use crate::tunnel::echo;
use crate::wire::PATIENCE;

const MASK: [u8; 4] = [255, 255, 255, 0];

/// Connects and sends echoes.
pub fn client(settings: &Settings) -> Outcome<()> {
    let gateway: Ipv4Addr = settings.need("gateway")?.parse()?;
    let (inner, ping): (Ipv4Addr, Ipv4Addr) =
        (settings.need("inner")?.parse()?, settings.need("ping")?.parse()?);
    let network = |address: Ipv4Addr| (address.to_bits() & u32::from_be_bytes(MASK)).to_be_bytes();
    let config = InitiatorConfig {
        psk: settings.need("psk")?.as_bytes().to_vec(),
        our_id: identity(settings.need("id")?),
        group: DhGroup::Modp2048,
        xauth: false,
        ts_local: (network(inner), MASK),
        ts_remote: (network(ping), MASK),
    };
    let mut client = Client::bind("0.0.0.0:0", OsEntropy::new()?)?;
    client.set_read_timeout(Some(PATIENCE))?;
    let mut established = client.connect(SocketAddr::from((gateway, 500)), &config)?;
    println!("established by aggressive mode");
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    echo(&mut established.child, &socket, (gateway, 4500).into(), (inner, ping))
}

/// Serves devices until it is killed.
pub fn server(settings: &Settings) -> Outcome<()> {
    let listen: Ipv4Addr = settings.need("listen")?.parse()?;
    let psk = settings.need("psk")?.as_bytes().to_vec();
    let config = Phase1Config { psk, our_id: identity(settings.need("id")?) };
    let mut server = Server::bind((listen, 500), OsEntropy::new()?, config)?;
    let socket = UdpSocket::bind((listen, 4500))?;
    println!("listening");
    loop {
        match server.handle_one() {
            Ok(ServerEvent::ChildSaEstablished { cky_i }) => {
                let child: ChildSa = server.take_child(cky_i).ok_or("no CHILD SA")?;
                println!("established by aggressive mode");
                serve_echoes(child, &socket)?;
            }
            Ok(_) => {}
            Err(why) => println!("refused: {why}"),
        }
    }
}

/// A name of a host, or an address of mail.
fn identity(name: &str) -> Id {
    let kind = if name.contains('@') { id_type::USER_FQDN } else { id_type::FQDN };
    Id { id_type: kind, protocol: 0, port: 0, data: name.as_bytes().to_vec() }
}
