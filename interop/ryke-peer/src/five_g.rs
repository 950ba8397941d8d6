//! The first response of an N3IWF: EAP-5G in place of a method that ryke has. TS 24.502 §9.3.2.2: type 254 (expanded), vendor 10415 (3GPP), method 3.

use ryke::ikev2::auth::responder_signed_octets;
use ryke::ikev2::eap::{EapPacket, code};
use ryke::ikev2::payload::auth_method;
use ryke::{Authentication, Certificate, CompletedSaInit, PayloadType, ServerAuth, open_informational};

use crate::credentials::{identity, of_gateway};
use crate::settings::Settings;
use crate::{Outcome, answer};

/// Type, vendor (three octets), method (four), Message-Id 1 (5G-Start), a spare octet.
const START: [u8; 10] = [254, 0, 0x28, 0xaf, 0, 0, 0, 3, 1, 0];
const IDENTIFIER: u8 = 0x35;

/// Proves the gateway and asks for EAP-5G. To the answer, if one comes, it says EAP-Failure.
pub fn response(sa: &CompletedSaInit, settings: &Settings, request: &[u8], iv: &[u8; 8]) -> Outcome<Vec<u8>> {
    let answer = open_informational(sa, request)?.into_iter().find(|(kind, _)| *kind == PayloadType::Eap);
    let inner = match answer {
        None => first(sa, settings)?,
        Some((_, body)) => {
            println!("answer to EAP-5G: {}", shown(&EapPacket::parse(&body)?));
            let failure = EapPacket { code: code::FAILURE, identifier: IDENTIFIER, data: Vec::new() };
            vec![(PayloadType::Eap, failure.to_bytes())]
        }
    };
    answer::ike_auth(sa, request, &inner, iv)
}

/// SK { IDr, CERT, AUTH, EAP }
fn first(sa: &CompletedSaInit, settings: &Settings) -> Outcome<Vec<(PayloadType, Vec<u8>)>> {
    let ServerAuth::Cert { key, chain } = of_gateway(settings)? else { return Err("no certificate".into()) };
    let own = identity(settings.need("id")?).to_bytes();
    let octets = responder_signed_octets(&sa.resp_message, &sa.ni, &sa.keys.sk_pr, &own);
    let proof = Authentication { method: auth_method::DIGITAL_SIGNATURE, data: key.sign_auth_data(&octets)? };
    let start = EapPacket { code: code::REQUEST, identifier: IDENTIFIER, data: START.to_vec() };
    println!("asks for EAP-5G");
    let mut inner = vec![(PayloadType::IdResponder, own)];
    inner.extend(chain.into_iter().map(|der| (PayloadType::Certificate, Certificate::x509(der).to_bytes())));
    inner.push((PayloadType::Authentication, proof.to_bytes()));
    inner.push((PayloadType::Eap, start.to_bytes()));
    Ok(inner)
}

/// An EAP packet as its numbers.
fn shown(packet: &EapPacket) -> String {
    let data: String = packet.data.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("code {} data {data}", packet.code)
}
