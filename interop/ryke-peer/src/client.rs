//! ryke as a device. It stays at port 500 and sends no NAT_DETECTION, or moves to port 4500 after IKE_SA_INIT as ryke's own example
//! `ike_client_natt` does.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use ryke::ikev2::message::{encode_payload_chain, first_payload_type};
use ryke::ikev2::payload::{SecurityAssociation, transform_id, transform_type};
use ryke::{
    ChildSa, Client, CompletedSaInit, EapEvent, EapInitiator, IkeHeader, LocalSecret, OsEntropy, PayloadType,
    Role, build_encrypted_gcm, default_offer, initiator_auth_request, initiator_complete, initiator_request,
    initiator_verify_auth, open_informational,
};

use crate::Outcome;
use crate::answer::error_in;
use crate::credentials::{identity, of_both, shown, trust};
use crate::requests::{Peer, iv};
use crate::settings::Settings;
use crate::tunnel::Tunnel;
use crate::wire::{PATIENCE, Wire};

/// The SPI of packets to the device.
const CHILD_SPI: u32 = 0x7279_6b65;

/// Connects, then takes the steps.
pub fn run(settings: &Settings) -> Outcome<()> {
    let gateway: Ipv4Addr = settings.need("gateway")?.parse()?;
    let ports = [500, 4500].map(|port| SocketAddr::from((gateway, port)));
    let mut tunnel = match (settings.get("mode"), settings.get("user")) {
        (_, Some(user)) => by_eap(settings, user, ports)?,
        (Some("4500"), None) => at_4500(settings, ports)?,
        _ => by_client(settings, ports)?,
    };
    settings.steps.iter().try_for_each(|word| tunnel.step(word, settings))
}

/// `ryke::Client` as it is. Its ESP has a socket of its own, as in ryke's example `ike_client`, or the port of IKE.
fn by_client(settings: &Settings, [ike, esp]: [SocketAddr; 2]) -> Outcome<Tunnel> {
    let mut client = Client::bind("0.0.0.0:0", OsEntropy::new()?)?;
    client.set_read_timeout(Some(PATIENCE))?;
    let port = client.local_addr()?.port();
    let (sa, peer, child, _) = client.connect(ike, &of_both(settings)?, CHILD_SPI)?;
    drop(client);
    println!("established with {} at port 500", shown(&peer));
    let port = if settings.get("esp") == Some("same") { port } else { 0 };
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    let peer = Peer { sa, at: ike, is_marked: false, next_id: 2 };
    Ok(Tunnel { peer, child, socket, esp, old: Vec::new() })
}

/// IKE_SA_INIT at port 500, everything else at 4500.
fn at_4500(settings: &Settings, [ike, esp]: [SocketAddr; 2]) -> Outcome<Tunnel> {
    let mut entropy = OsEntropy::new()?;
    let wire = Wire::new(ike, false)?;
    let sa = sa_init(settings, &wire, &mut entropy)?;
    let wire = wire.moved_to(esp);
    let proof = of_both(settings)?;
    let response = wire.ask(&initiator_auth_request(&sa, &proof, CHILD_SPI, &iv()?)?)?;
    let (peer, spi, _) = initiator_verify_auth(&sa, &response, &proof)?;
    println!("established with {} at port 4500", shown(&peer));
    let child = derived(&sa, spi);
    let peer = Peer { sa, at: esp, is_marked: true, next_id: 2 };
    Ok(Tunnel { peer, child, socket: wire.socket, esp, old: Vec::new() })
}

/// EAP-MSCHAPv2, with the gateway's certificate.
fn by_eap(settings: &Settings, user: &str, [ike, esp]: [SocketAddr; 2]) -> Outcome<Tunnel> {
    let mut entropy = OsEntropy::new()?;
    let mut wire = Wire::new(ike, false)?;
    let sa = sa_init(settings, &wire, &mut entropy)?;
    let is_marked = settings.get("mode") == Some("4500");
    if is_marked {
        wire = wire.moved_to(esp);
    }
    let (id, password) = (identity(settings.need("id")?), settings.need("password")?.to_owned());
    let user = user.as_bytes().to_vec();
    let mut eap = EapInitiator::new(sa.clone(), id, user, password, CHILD_SPI, trust(settings)?);
    let mut response = wire.ask(&eap.start(&mut entropy)?)?;
    let gateway = find(&sa, &response, PayloadType::IdResponder)?;
    loop {
        match eap.handle(&response, &mut entropy)? {
            EapEvent::Reply(request) => response = wire.ask(&request)?,
            EapEvent::Established(_) => break,
            EapEvent::Failed => {
                // RFC 7296 §2.16: IDr is in the first response. ryke looks for it in the last one, too.
                let is_last = find(&sa, &response, PayloadType::Authentication)?.is_some();
                let has_name = find(&sa, &response, PayloadType::IdResponder)?.is_some();
                let Some(gateway) = gateway.as_ref().filter(|_| is_last && !has_name) else {
                    return Err(format!("EAP failed{}", error_in(&sa, &response)).into());
                };
                println!("no IDr in the last response: EAP failed");
                response = with_name(&sa, &response, gateway, &iv()?)?;
            }
        }
    }
    println!("established by EAP-MSCHAPv2 at port {}", if is_marked { 4500 } else { 500 });
    let offer =
        find(&sa, &response, PayloadType::SecurityAssociation)?.ok_or("no SA in the last response")?;
    let proposals = SecurityAssociation::parse(&offer)?.proposals;
    let spi = proposals.first().ok_or("no proposal in the last response")?.spi.as_slice().try_into()?;
    let child = derived(&sa, u32::from_be_bytes(spi));
    let next_id = IkeHeader::parse(&response)?.message_id + 1;
    let peer = Peer { sa, at: if is_marked { esp } else { ike }, is_marked, next_id };
    Ok(Tunnel { peer, child, socket: wire.socket, esp, old: Vec::new() })
}

/// The response with one more payload in front: this IDr.
fn with_name(sa: &CompletedSaInit, response: &[u8], gateway: &[u8], iv: &[u8; 8]) -> Outcome<Vec<u8>> {
    let mut inner = vec![(PayloadType::IdResponder, gateway.to_vec())];
    inner.extend(open_informational(sa, response)?);
    let first = first_payload_type(&inner);
    let header = IkeHeader::parse(response)?;
    Ok(build_encrypted_gcm(header, first, &encode_payload_chain(&inner), &sa.keys.sk_er, iv)?)
}

/// A payload of an encrypted response. `EapInitiator` gives no access to them.
fn find(sa: &CompletedSaInit, response: &[u8], kind: PayloadType) -> Outcome<Option<Vec<u8>>> {
    let mut inner = open_informational(sa, response)?.into_iter();
    Ok(inner.find(|(found, _)| *found == kind).map(|(_, body)| body))
}

fn sa_init(settings: &Settings, wire: &Wire, entropy: &mut OsEntropy) -> Outcome<CompletedSaInit> {
    let local = LocalSecret::generate(entropy, 32);
    let request = initiator_request(&local, &offer(settings));
    Ok(initiator_complete(&local, &request, &wire.ask(&request)?)?)
}

/// ryke's own offer, perhaps with another group.
fn offer(settings: &Settings) -> SecurityAssociation {
    let mut offer = default_offer();
    if settings.get("group") == Some("modp2048") {
        let transforms = offer.proposals.iter_mut().flat_map(|proposal| &mut proposal.transforms);
        let groups = transforms.filter(|transform| transform.transform_type == transform_type::DH);
        groups.for_each(|group| group.transform_id = transform_id::MODP_2048);
    }
    offer
}

fn derived(sa: &CompletedSaInit, peer_spi: u32) -> ChildSa {
    ChildSa::derive(&sa.keys.sk_d, &sa.ni, &sa.nr, Role::Initiator, CHILD_SPI, peer_spi)
}
