//! Both sides with each other, and what is refused.

use keytoll_crypto::{Metered, Real};
use keytoll_crypto_api::Rng;
use keytoll_engine::trace::NoTrace;
use keytoll_engine::{Ctx, Time};

use super::*;
use crate::frame::AuthenticationAlgorithm;

fn config(key: &[u8]) -> Config {
    Config { key: WepKey::new(key).unwrap(), key_id: 1 }
}

fn rng() -> Rng {
    Rng::named(1, "shared key")
}

/// Frames 1 to 3, and what the access point makes of the last one, which `spoil` changes.
fn run(station_key: &[u8], spoil: impl Fn(&mut Vec<u8>)) -> Result<Vec<u8>, Failure> {
    let (mut crypto, now) = (Metered::count_only(Real::default()), Time::ZERO);
    let (station, request) = station::begin(config(station_key));
    assert_eq!(request.len() + 24, 30);
    let (access_point, challenge) = access_point::on_request(config(b"12345"), &request, &mut rng()).unwrap();
    assert_eq!((challenge.len() + 24, &access_point.challenge_frame()), (160, &challenge));
    let cx = &mut Ctx { now, crypto: &mut crypto, trace: &mut NoTrace };
    let station = station.on_challenge(&challenge, &mut rng(), cx).unwrap();
    let mut response = station.response().to_vec();
    assert_eq!(response.len() + 24, 168, "as long as in the capture that is named in the reference");
    spoil(&mut response);
    let answered = access_point.on_response(&response, cx)?;
    let result = answered.result().to_vec();
    assert_eq!(
        (answered.on_repeated(&response), answered.on_repeated(&response[1..])),
        (Some(&result[..]), None)
    );
    assert_eq!(
        (station.on_repeated(&challenge), station.on_repeated(&request)),
        (Some(station.response()), None)
    );
    assert_eq!((station.on_result(&result), result.len() + 24), (Ok(()), 30));
    let rows = crypto.snapshot();
    assert_eq!((rows.len(), rows[0].operation, rows[0].count), (1, "stream", 2), "one WEP on each side");
    Ok(result)
}

#[test]
fn a_station_with_the_key_is_authenticated() {
    assert!(run(b"12345", |_| ()).is_ok());
}

#[test]
fn one_without_it_fails_with_status_15() {
    let failure = run(b"54321", |_| ()).unwrap_err();
    assert_eq!(failure, Failure::Encryption(Refused::Icv));
    assert_eq!(failure.status().0, 15);
    // Under the ID of another key.
    assert_eq!(run(b"12345", |body| body[3] ^= 0x80).unwrap_err(), Failure::Encryption(Refused::KeyId));
    assert_eq!(run(b"12345", |body| body.truncate(7)).unwrap_err(), Failure::Encryption(Refused::TooShort));
}

/// RC4 and CRC-32 are linear: whoever flips bits of the challenge can correct the ICV, but not make it the challenge.
#[test]
fn another_challenge_fails_with_status_15() {
    let failure = run(b"12345", |body| {
        let mut flip = vec![0; body.len() - 8];
        flip[10] = 1;
        let correction = crc32fast::hash(&flip) ^ crc32fast::hash(&vec![0; flip.len()]);
        body[4 + 10] ^= 1;
        let icv_at = body.len() - 4;
        body[icv_at..].iter_mut().zip(correction.to_le_bytes()).for_each(|(octet, bits)| *octet ^= bits);
    });
    assert_eq!((failure, Failure::Challenge.status().0), (Err(Failure::Challenge), 15));
}

#[test]
fn other_frames_are_refused_and_the_wait_goes_on() {
    let (mut crypto, now) = (Real::default(), Time::ZERO);
    let cx = &mut Ctx { now, crypto: &mut crypto, trace: &mut NoTrace };
    let open = message::write(AuthenticationAlgorithm::OPEN_SYSTEM, 1, &[]);
    let ask = |body: &[u8]| access_point::on_request(config(b"12345"), body, &mut rng()).unwrap_err();
    assert_eq!((ask(&open), ask(&open).status().0), (Failure::Algorithm, 13));
    let second = message::write(AuthenticationAlgorithm::SHARED_KEY, 2, &[]);
    assert_eq!((ask(&second), ask(&second).status().0), (Failure::Sequence, 14));
    assert!(matches!(ask(&[1, 0]), Failure::Unreadable(_)));
    let (station, request) = station::begin(config(b"12345"));
    assert!(matches!(station.on_challenge(&second, &mut rng(), cx), Err(Failure::Unreadable(_))));
    assert_eq!(station.on_challenge(&request, &mut rng(), cx).unwrap_err(), Failure::Sequence);
    let (_, challenge) = access_point::on_request(config(b"12345"), &request, &mut rng()).unwrap();
    let station = station.on_challenge(&challenge, &mut rng(), cx).unwrap();
    let late = refusal(AuthenticationAlgorithm::SHARED_KEY, 4, Failure::Timeout);
    assert_eq!(
        station.on_result(&late),
        Err(Failure::Refused(StatusCode::REJECTED_SEQUENCE_TIMEOUT)),
        "status 16"
    );
}
