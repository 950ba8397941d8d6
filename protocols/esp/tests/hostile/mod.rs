//! Any bytes as packets for IPsec, with a provider under which every packet with a check value of zeros is authentic, so
//! that what is behind the check is reached. What the fuzz targets `esp_input` and `ah_input` call.

use std::net::IpAddr;

use keytoll_crypto::Null;
use keytoll_crypto_api::algorithm::{Encryption, Integrity};
use keytoll_crypto_api::{Rng, Secret, TrafficKey};
use keytoll_esp::lifetime::Lifetime;
use keytoll_esp::replay::Window;
use keytoll_esp::sad::{Headers, Mode, OuterHeader, PairConfig, Path, Start};
use keytoll_esp::selector::{Addresses, Selectors};
use keytoll_esp::{Dropped, Frame, HEADROOM, Ipsec, TAILROOM, ah};
use keytoll_net::Addr;

/// The SPI of everything.
const SPI: u32 = 0x222;

/// The first two bytes say under which SA, the others are the packet; whether it was taken.
pub(crate) fn esp(bytes: &[u8]) -> bool {
    let [suite, how, packet @ ..] = bytes else { return false };
    check_outbound(*suite, *how, packet);
    check_inbound(*suite, *how, packet)
}

/// The first byte says under which SA, the others are the packet; whether it was taken.
pub(crate) fn ah(bytes: &[u8]) -> bool {
    let [how, packet @ ..] = bytes else { return false };
    let key = key(Encryption::Null, Integrity::ALL[usize::from(*how) % Integrity::ALL.len()]);
    let esn = how & 0x80 != 0;
    let mut inbound = ah::Inbound::new(SPI, key.clone(), esn, Window::default());
    let mut open = |packet: &[u8]| {
        let mut packet = packet.to_vec();
        let mut frame = Frame::whole(&mut packet);
        let opened = inbound.open(&mut frame, &mut Null);
        assert!(opened.is_ok() || frame.is_empty());
        opened.map(|()| frame.bytes().to_vec())
    };
    let taken = open(packet).is_ok();
    assert!(!taken || open(packet) == Err(Dropped::Replay));
    let mut buffer = room(packet);
    let mut frame = Frame::new(&mut buffer, HEADROOM..HEADROOM + packet.len());
    if ah::Outbound::new(SPI, key.clone(), esn).seal(&mut frame, &mut Null).is_ok() {
        let mut sealed = frame.bytes().to_vec();
        let mut frame = Frame::whole(&mut sealed);
        let mut fresh = ah::Inbound::new(SPI, key, esn, Window::default());
        match fresh.open(&mut frame, &mut Null) {
            Ok(()) => assert!(packet.starts_with(&frame.bytes()[..1]) && frame.len() <= packet.len()),
            Err(why) => assert!(is_on_its_way(&why), "what we made we take: {why}"),
        }
    }
    taken
}

/// Whether routers that the packet names have still to send it on, and to change it.
fn is_on_its_way(why: &Dropped) -> bool {
    matches!(why, Dropped::Malformed(error) if ["pointer of the source route", "Segments Left"].contains(&error.field))
}

fn key(encryption: Encryption, integrity: Integrity) -> TrafficKey {
    let integrity = if encryption.is_aead() { None } else { Some(integrity) };
    let secret = |len| Secret::new(vec![1; len]);
    let integrity_key = secret(integrity.map_or(0, Integrity::key_len));
    TrafficKey::new(encryption, integrity, secret(encryption.key_len()), integrity_key)
}

fn room(packet: &[u8]) -> Vec<u8> {
    [&[0; HEADROOM], packet, &[0; TAILROOM]].concat()
}

/// Both directions of an SA for everything between everybody.
fn ipsec(suite: u8, how: u8) -> Ipsec {
    let encryption = Encryption::ALL[usize::from(suite) % Encryption::ALL.len()];
    let key = key(encryption, Integrity::ALL[usize::from(suite) % Integrity::ALL.len()]);
    let all = |v4: bool| {
        let (first, last): (IpAddr, IpAddr) =
            if v4 { ([0; 4].into(), [255; 4].into()) } else { ([0; 16].into(), [255; 16].into()) };
        Addresses::new(first, last).expect("one family")
    };
    let (mode, is_v4) = match how & (2 | 64) {
        0 => (Mode::Tunnel, how & 8 == 0),
        2 => (Mode::Transport, how & 8 == 0),
        _ => (Mode::Beet { local: [1; 16].into(), remote: [1; 16].into() }, false),
    };
    let ip = [192, 0, 2, 1].into();
    let here = if how & 4 == 0 { Addr::Ip { ip, protocol: 50 } } else { Addr::udp(ip, 4500) };
    let mut ipsec = Ipsec::default();
    ipsec.install(PairConfig {
        inbound_spi: SPI,
        outbound_spi: SPI,
        inbound_key: key.clone(),
        outbound_key: key,
        esn: how & 1 != 0,
        mode,
        selectors: Selectors::between(all(is_v4), all(is_v4)),
        path: Path {
            local: here,
            remote: here,
            headers: if how & 16 == 0 { Headers::Socket } else { Headers::Here(OuterHeader::default()) },
        },
        follows_peer: how & 32 != 0,
        original: None,
        replay_window: 32,
        lifetime: Lifetime::NONE,
        start: Start::Now,
    });
    ipsec
}

/// Opens a packet as a socket or the network gave it; nothing is left of one that is dropped.
fn open(ipsec: &mut Ipsec, how: u8, packet: &[u8]) -> Result<Vec<u8>, Dropped> {
    let mut packet = packet.to_vec();
    let mut frame = Frame::whole(&mut packet);
    let here = Addr::udp([192, 0, 2, 1].into(), 4500);
    let arrived = if how & 16 == 0 {
        ipsec.inbound(&mut frame, here, here, &mut Null, &mut ())
    } else {
        ipsec.inbound_packet(&mut frame, &mut Null, &mut ())
    };
    let arrived = arrived?;
    assert!(arrived.header_len <= frame.len());
    Ok(frame.bytes().to_vec())
}

fn check_inbound(suite: u8, how: u8, packet: &[u8]) -> bool {
    let mut ipsec = ipsec(suite, how);
    let first = open(&mut ipsec, how, packet);
    let again = open(&mut ipsec, how, packet);
    // What was authentic once is a replay, whatever came of it; what was not stays what it was.
    if first.is_ok() {
        assert_eq!(again, Err(Dropped::Replay));
    }
    let counted: u64 = ipsec.counters().all().map(|(_, count)| count).sum();
    assert_eq!(counted, u64::from(first.is_err()) + u64::from(again.is_err()));
    first.is_ok()
}

/// What can be sealed comes back as it was, or says why not.
fn check_outbound(suite: u8, how: u8, packet: &[u8]) {
    let mut ipsec = ipsec(suite, how);
    let mut buffer = room(packet);
    let mut frame = Frame::new(&mut buffer, HEADROOM..HEADROOM + packet.len());
    if ipsec.outbound(&mut frame, &mut Rng::named(1, "fuzz"), &mut Null, &mut ()).is_err() {
        return;
    }
    let sealed = frame.bytes().to_vec();
    if let Ok(back) = open(&mut ipsec, how, &sealed) {
        let is_whole = how & (2 | 64) == 0 || how & 16 != 0;
        assert!(!is_whole || packet[..1] == back[..1], "an IP packet comes back");
        assert!(back.len() <= packet.len());
    }
}
