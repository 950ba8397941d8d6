//! The paper's findings, judged by measured medians: a case within their intervals is undecided. Ratios and differences are of blocks.

use super::measured::Measured;
use super::published::{OPERATIONS, Phase, What};
use super::{Cipher, Way};
use crate::claim::Claim;
use crate::doubtful::{Doubtful, all};
use crate::{Evidence, Finding, Material};
use keytoll_analysis::profile::{Processing, Stage};

/// Every finding, in the order of the paper.
pub(super) fn findings(material: &Material<'_>) -> Vec<Finding> {
    let measured = Measured(material);
    let claims: [fn(Measured<'_>) -> Finding; 12] = [
        the_signature_costs_the_server_most,
        key_agreement_comes_second,
        symmetric_cryptography_is_small,
        the_cipher_makes_little_difference,
        a_shared_key_saves_two_signatures,
        aggressive_mode_changes_no_cryptography,
        aggressive_mode_gains_little,
        cryptography_is_sixty_per_cent,
        subtraction_agrees_with_addition,
        ike_costs_far_more_than_a_packet,
        the_cipher_costs_esp_most,
        aes256_is_faster_than_3des,
    ];
    claims.into_iter().map(|claim| claim(measured)).chain([esp_shares(measured)]).collect()
}

/// What is known for each cipher.
fn known<T>(of: impl Fn(Cipher) -> Option<T>) -> Vec<(Cipher, T)> {
    Cipher::ALL.into_iter().filter_map(|cipher| Some((cipher, of(cipher)?))).collect()
}

/// Milliseconds of a line of Table 1 in main mode with signatures; 0 if it does not occur.
fn ms(measured: Measured<'_>, cipher: Cipher, what: What) -> Option<Doubtful> {
    measured.server_crypto_ms(Way::MainRsa, cipher)?;
    let found = measured.operation(Way::MainRsa, cipher, what);
    Some(found.unwrap_or(0.0.into()))
}

fn added(each: impl IntoIterator<Item = Option<Doubtful>>) -> Option<Doubtful> {
    each.into_iter().try_fold(Doubtful::from(0.0), |sum, next| Some(sum.plus(next?)))
}

fn agreements(measured: Measured<'_>, cipher: Cipher) -> Option<Doubtful> {
    added([Phase::One, Phase::Two].map(|phase| ms(measured, cipher, What::Agreement(phase))))
}

/// All cryptography at the server.
fn crypto_ms(measured: Measured<'_>, way: Way, cipher: Cipher) -> Option<Doubtful> {
    Some(measured.server_crypto_ms(way, cipher)?.into())
}

/// Both ends together.
fn total_ms(measured: Measured<'_>, way: Way, cipher: Cipher) -> Option<Doubtful> {
    Some(measured.total_ms(way, cipher)?.into())
}

/// All lines of Table 1 that are neither signatures nor key agreement.
fn symmetric(measured: Measured<'_>, cipher: Cipher) -> Option<Doubtful> {
    let is_symmetric =
        |what: What| !matches!(what, What::Agreement(_) | What::Signature | What::Verification);
    let each = OPERATIONS.iter().filter(|operation| is_symmetric(operation.what));
    added(each.map(|operation| ms(measured, cipher, operation.what)))
}

fn the_signature_costs_the_server_most(measured: Measured<'_>) -> Finding {
    let cases = known(|cipher| {
        let others = OPERATIONS.iter().filter(|operation| operation.what != What::Signature);
        let others = others.filter_map(|operation| ms(measured, cipher, operation.what));
        let most = others.max_by(|one, other| one.value.total_cmp(&other.value))?;
        Some((ms(measured, cipher, What::Signature)?, most))
    });
    Claim {
        name: "the-signature-costs-the-server-most",
        claim: "The biggest contributor to the cryptography at the server is the generation of its RSA signature.",
        source: "§4.1",
        taken_as: "no other line of Table 1 is greater",
    }
    .of_cases(cases.into_iter().map(|(cipher, (signature, most))| {
        let what = format!("{}: signature of the greatest other line", cipher.name());
        (signature.exceeds(most), signature.per(most).evidence(what, ""))
    }))
}

fn key_agreement_comes_second(measured: Measured<'_>) -> Finding {
    let cases = known(|cipher| {
        let others = [ms(measured, cipher, What::Verification)?, symmetric(measured, cipher)?];
        Some((agreements(measured, cipher)?, others, ms(measured, cipher, What::Signature)?))
    });
    Claim {
        name: "key-agreement-comes-second",
        claim: "The Diffie-Hellman computations are the second biggest contributor at the server.",
        source: "§4.1",
        taken_as: "both phases together less than the signature, and more than verification and more than all symmetric \
                   cryptography and hashing",
    }
    .of_cases(cases.into_iter().map(|(cipher, (agreement, others, signature))| {
        let above = others.into_iter().map(|other| agreement.exceeds(other));
        let second = all(above.chain([signature.exceeds(agreement)]));
        (second, agreement.per(signature).evidence(format!("{}: D-H of the signature", cipher.name()), ""))
    }))
}

fn symmetric_cryptography_is_small(measured: Measured<'_>) -> Finding {
    const SMALL: f64 = 0.05;
    let cases =
        known(|cipher| Some(symmetric(measured, cipher)?.per(crypto_ms(measured, Way::MainRsa, cipher)?)));
    Claim {
        name: "symmetric-cryptography-is-small",
        claim: "Only a small amount of what IKE costs is symmetric encryption and hashing.",
        source: "§1, §4.1",
        taken_as: "at most 5 % of the cryptography at the server",
    }
    .of_cases(
        cases.into_iter().map(|(cipher, share)| {
            (share.is_at_most(SMALL), share.times(100.0).evidence(cipher.name(), "%"))
        }),
    )
}

fn the_cipher_makes_little_difference(measured: Measured<'_>) -> Finding {
    const LITTLE: f64 = 0.05;
    let totals = known(|cipher| crypto_ms(measured, Way::MainRsa, cipher));
    let least = totals.iter().min_by(|(_, one), (_, other)| one.value.total_cmp(&other.value)).copied();
    let cases = totals.into_iter().zip(std::iter::repeat(least)).filter_map(|((cipher, ms), least)| {
        let (cheapest, least) = least?;
        // The cheapest is not compared with itself.
        let more = if cipher == cheapest { Doubtful::from(0.0) } else { ms.per(least).less(1.0.into()) };
        Some((more.is_at_most(LITTLE), more.times(100.0).evidence(cipher.name(), "% over the least")))
    });
    Claim {
        name: "the-cipher-makes-little-difference",
        claim: "What IKE costs varies little across encryption algorithms.",
        source: "§4.1, Table 1",
        taken_as: "the cryptography at the server is at most 5 % more than with the cheapest of the three",
    }
    .of_cases(cases)
}

fn a_shared_key_saves_two_signatures(measured: Measured<'_>) -> Finding {
    const NEAR: f64 = 0.15;
    let cases = known(|cipher| {
        let total = |way| total_ms(measured, way, cipher);
        let saved = total(Way::MainRsa)?.less(total(Way::MainPsk)?);
        Some(saved.per(ms(measured, cipher, What::Signature)?.times(2.0)))
    });
    Claim {
        name: "a-shared-key-saves-two-signatures",
        claim: "Signatures cost over a shared key only twice the signature generation, one at each end.",
        source: "§4.1",
        taken_as: "the difference of both totals is within 15 % of twice the server's signature",
    }
    .of_cases(cases.into_iter().filter(|(_, ratio)| ratio.value.is_finite()).map(|(cipher, ratio)| {
        let evidence = ratio.evidence(format!("{}: saved, in pairs of signatures", cipher.name()), "");
        (ratio.is_near(1.0, NEAR), evidence)
    }))
}

fn aggressive_mode_changes_no_cryptography(measured: Measured<'_>) -> Finding {
    const SAME: f64 = 0.03;
    let cases = known(|cipher| {
        let of = |way| crypto_ms(measured, way, cipher);
        Some(of(Way::AggressiveRsa)?.per(of(Way::MainRsa)?).less(1.0.into()))
    });
    Claim {
        name: "aggressive-mode-changes-no-cryptography",
        claim: "Aggressive mode changes nothing in what cryptography costs.",
        source: "§4.1",
        taken_as: "the cryptography at the server is within 3 % of main mode's",
    }
    .of_cases(
        cases.into_iter().map(|(cipher, more)| {
            (more.is_near(0.0, SAME), more.times(100.0).evidence(cipher.name(), "% more"))
        }),
    )
}

fn aggressive_mode_gains_little(measured: Measured<'_>) -> Finding {
    const LITTLE: f64 = 0.05;
    let cases = known(|cipher| {
        let [main, aggressive] =
            [Way::MainRsa, Way::AggressiveRsa].map(|way| total_ms(measured, way, cipher));
        let skeleton = |way| Some(Doubtful::from(&measured.skeleton(way, cipher)?.all.skeleton_ms));
        let saved = skeleton(Way::MainRsa)?.less(skeleton(Way::AggressiveRsa)?);
        Some((saved, Doubtful::from(1.0).less(aggressive?.per(main?))))
    });
    Claim {
        name: "aggressive-mode-gains-little",
        claim: "Aggressive mode takes only about 5 ms less, 1.3 % of the whole.",
        source: "§4.1",
        taken_as: "its skeleton takes less, and the whole is less by at most 5 %",
    }
    .of_cases(cases.into_iter().map(|(cipher, (saved, part))| {
        let evidence = saved.times(1e3).evidence(format!("{}: skeleton less by", cipher.name()), "µs");
        (all([saved.exceeds(0.0.into()), part.is_at_most(LITTLE)]), evidence)
    }))
}

fn cryptography_is_sixty_per_cent(measured: Measured<'_>) -> Finding {
    const NEAR: f64 = 10.0;
    let cases = Way::ALL.into_iter().filter_map(|way| {
        let shares = known(|cipher| measured.crypto_percent(way, cipher));
        let sum = shares.iter().map(|(_, share)| *share).reduce(Doubtful::plus)?;
        let mean = sum.times(1.0 / shares.len() as f64);
        let printed = super::published::crypto_percent(way).value;
        Some((mean.is_near(printed, NEAR), mean.evidence(way.name(), "%")))
    });
    Claim {
        name: "cryptography-is-sixty-per-cent",
        claim: "Cryptography is about 60 % of the running time of IKE with signatures, and 32 % with a shared key.",
        source: "§4.1",
        taken_as: "within 10 points of that, of medians, averaged over the three ciphers",
    }
    .of_cases(cases)
}

fn subtraction_agrees_with_addition(measured: Measured<'_>) -> Finding {
    const NEAR: f64 = 0.10;
    let cases = known(|cipher| Some(&measured.skeleton(Way::MainRsa, cipher)?.all));
    Claim {
        name: "subtraction-agrees-with-addition",
        claim: "The time saved by replacing cryptography with null operations is very close to the sum of the timed \
                operations.",
        source: "§4.2, Table 2",
        taken_as: "CPU time of both ends: the sum of the operations is within 10 % of full − skeleton",
    }
    .of_cases(cases.into_iter().map(|(cipher, sides)| {
        let [addition, subtraction] = [&sides.by_addition_ms, &sides.by_subtraction_ms].map(Doubtful::from);
        let more = addition.per(subtraction).less(1.0.into());
        (more.is_near(0.0, NEAR), more.times(100.0).evidence(cipher.name(), "% more by addition"))
    }))
}

fn ike_costs_far_more_than_a_packet(measured: Measured<'_>) -> Finding {
    const FAR: f64 = 100.0;
    let cases = known(|cipher| {
        let packet_us = Doubtful::from(&measured.packet(cipher)?.full.total_us);
        Some(total_ms(measured, Way::MainRsa, cipher)?.times(1e3).per(packet_us))
    });
    Claim {
        name: "ike-costs-far-more-than-a-packet",
        claim: "The overheads of IKE are considerably higher than those of ESP for a packet.",
        source: "§1, §4.1",
        taken_as: "a whole key exchange costs at least 100 pings through the tunnel (the paper's cost 1081)",
    }
    .of_cases(cases.into_iter().map(|(cipher, pings)| {
        (pings.is_at_least(FAR), pings.evidence(format!("{}: pings", cipher.name()), ""))
    }))
}

/// Microseconds of a stage.
fn us(stage: &Stage) -> Doubtful {
    (&stage.us).into()
}

/// The most expensive stage of a direction, and whether it is not the expected one.
fn greatest<'a>(
    processing: &'a Processing,
    inbound: bool,
    wanted: &str,
) -> Option<(&'a Stage, Option<bool>)> {
    let stages = if inbound { &processing.inbound } else { &processing.outbound };
    let (wanted, others): (Vec<&Stage>, Vec<&Stage>) = stages.iter().partition(|stage| stage.stage == wanted);
    let wanted = *wanted.first()?;
    let exceeds = all(others.iter().map(|other| us(wanted).exceeds(us(other))));
    let greatest = stages.iter().max_by(|a, b| a.us.p50.total_cmp(&b.us.p50))?;
    Some((greatest, exceeds))
}

fn the_cipher_costs_esp_most(measured: Measured<'_>) -> Finding {
    let cases = known(|cipher| measured.packet(cipher)).into_iter().flat_map(|(cipher, column)| {
        let ways = [(true, "decrypt", "in"), (false, "encrypt", "out")];
        ways.into_iter().filter_map(move |(inbound, wanted, way)| {
            let (greatest, is_wanted) = greatest(&column.full, inbound, wanted)?;
            let what = format!("{} {way}: {}", cipher.name(), greatest.stage);
            Some((is_wanted, Evidence::new(what, greatest.share * 100.0, "%")))
        })
    });
    Claim {
        name: "the-cipher-costs-esp-most",
        claim: "Symmetric encryption is the most expensive operation of ESP, 58 % of the way in and 55 % of the way out \
                with 3DES192.",
        source: "§1, §4.1, Figures 4 and 5",
        taken_as: "no stage of a way takes longer than decryption or encryption",
    }
    .of_cases(cases)
}

fn aes256_is_faster_than_3des(measured: Measured<'_>) -> Finding {
    const FACTOR: f64 = 2.4;
    let ciphering = |cipher: Cipher| {
        let column = measured.packet(cipher)?;
        let stages = column.full.inbound.iter().chain(&column.full.outbound);
        let ciphering = stages.filter(|stage| ["decrypt", "encrypt"].contains(&&*stage.stage));
        added(ciphering.map(|stage| Some(us(stage))))
    };
    let ratio = ciphering(Cipher::TripleDes192).zip(ciphering(Cipher::Aes256));
    let ratio = ratio.map(|(slow, fast)| slow.per(fast));
    let cases = ratio.map(|ratio| (ratio.is_at_least(FACTOR), ratio.evidence("times as long", "")));
    Claim {
        name: "aes256-is-faster-than-3des",
        claim: "AES256 is almost two and a half times faster than 3DES192 in spite of the bigger key.",
        source: "§4.1, Figure 5",
        taken_as: "encryption and decryption of a ping with 3DES192 take at least 2.4 times as long",
    }
    .of_cases(cases)
}

fn esp_shares(measured: Measured<'_>) -> Finding {
    const NEAR: f64 = 10.0;
    let cases = known(|cipher| measured.esp_crypto_percent(cipher));
    Claim {
        name: "half-to-a-third-of-esp-is-cryptography",
        claim: "Cryptography is 55 % (3DES192), 34 % (AES128) and 37 % (AES256) of what ESP costs.",
        source: "§4.2",
        taken_as: "within 10 points of that, as a part of what ESP adds to the native processing",
    }
    .of_cases(cases.into_iter().map(|(cipher, share)| {
        let printed = super::published::esp_crypto_percent(cipher).value;
        (share.is_near(printed, NEAR), share.evidence(cipher.name(), "%"))
    }))
}
