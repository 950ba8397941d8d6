//! What the paper found, judged by what was measured.

use super::measured::Measured;
use super::published::{OPERATIONS, Phase, What};
use super::{Cipher, Way};
use crate::profile::Processing;
use crate::study::{Evidence, Finding, Material, Verdict};

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

/// A claim before it is judged.
struct Claim {
    name: &'static str,
    claim: &'static str,
    source: &'static str,
    taken_as: &'static str,
}

impl Claim {
    fn judged(self, verdict: Verdict, evidence: Vec<Evidence>) -> Finding {
        let Self { name, claim, source, taken_as } = self;
        let [name, claim, source, taken_as] = [name, claim, source, taken_as].map(str::to_owned);
        Finding { name, claim, source, taken_as, verdict, evidence }
    }

    /// Judged case by case: whether the claim is true of each, and a number for it.
    fn of_cases(self, cases: impl IntoIterator<Item = (bool, Evidence)>) -> Finding {
        let (agreeing, evidence): (Vec<bool>, Vec<Evidence>) = cases.into_iter().unzip();
        let yes = agreeing.iter().filter(|&&agrees| agrees).count();
        self.judged(Verdict::of_cases(yes, agreeing.len()), evidence)
    }
}

/// What is known for each cipher.
fn known<T>(of: impl Fn(Cipher) -> Option<T>) -> Vec<(Cipher, T)> {
    Cipher::ALL.into_iter().filter_map(|cipher| Some((cipher, of(cipher)?))).collect()
}

/// Milliseconds of a line of Table 1 in main mode with signatures; 0 if it does not happen.
fn ms(measured: Measured<'_>, cipher: Cipher, what: What) -> Option<f64> {
    measured.server_crypto_ms(Way::MainRsa, cipher)?;
    Some(measured.operation(Way::MainRsa, cipher, what).map_or(0.0, |figure| figure.value))
}

fn agreements(measured: Measured<'_>, cipher: Cipher) -> Option<f64> {
    let both = [Phase::One, Phase::Two].map(|phase| ms(measured, cipher, What::Agreement(phase)));
    both.into_iter().sum()
}

/// All lines of Table 1 that are neither signatures nor key agreement.
fn symmetric(measured: Measured<'_>, cipher: Cipher) -> Option<f64> {
    let is_symmetric =
        |what: What| !matches!(what, What::Agreement(_) | What::Signature | What::Verification);
    let each = OPERATIONS.iter().filter(|operation| is_symmetric(operation.what));
    each.map(|operation| ms(measured, cipher, operation.what)).sum()
}

fn the_signature_costs_the_server_most(measured: Measured<'_>) -> Finding {
    let cases = known(|cipher| {
        let signature = ms(measured, cipher, What::Signature)?;
        let most = OPERATIONS.iter().filter_map(|operation| ms(measured, cipher, operation.what));
        Some((signature, most.fold(0.0, f64::max)))
    });
    Claim {
        name: "the-signature-costs-the-server-most",
        claim: "The biggest contributor to the cryptography at the server is the generation of its RSA signature.",
        source: "§4.1",
        taken_as: "no other line of Table 1 is greater",
    }
    .of_cases(cases.into_iter().map(|(cipher, (signature, most))| {
        let evidence = Evidence::new(format!("{}: signature of the greatest", cipher.name()), signature / most, "");
        (signature >= most && signature > 0.0, evidence)
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
        let second = agreement < signature && others.iter().all(|&other| agreement > other);
        (second, Evidence::new(format!("{}: D-H of the signature", cipher.name()), agreement / signature, ""))
    }))
}

fn symmetric_cryptography_is_small(measured: Measured<'_>) -> Finding {
    const SMALL: f64 = 0.05;
    let cases = known(|cipher| {
        let all = measured.server_crypto_ms(Way::MainRsa, cipher)?.mean;
        Some(symmetric(measured, cipher)? / all)
    });
    Claim {
        name: "symmetric-cryptography-is-small",
        claim: "Only a small amount of what IKE costs is symmetric encryption and hashing.",
        source: "§1, §4.1",
        taken_as: "at most 5 % of the cryptography at the server",
    }
    .of_cases(
        cases
            .into_iter()
            .map(|(cipher, share)| (share <= SMALL, Evidence::new(cipher.name(), share * 100.0, "%"))),
    )
}

fn the_cipher_makes_little_difference(measured: Measured<'_>) -> Finding {
    const LITTLE: f64 = 0.05;
    let totals = known(|cipher| Some(measured.server_crypto_ms(Way::MainRsa, cipher)?.mean));
    let least = totals.iter().map(|(_, ms)| *ms).fold(f64::INFINITY, f64::min);
    let cases = totals.into_iter().map(|(cipher, ms)| {
        let more = ms / least - 1.0;
        (more <= LITTLE, Evidence::new(cipher.name(), more * 100.0, "% over the least"))
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
        let total = |way| Some(measured.total_ms(way, cipher)?.mean);
        let saved = total(Way::MainRsa)? - total(Way::MainPsk)?;
        Some(saved / (2.0 * ms(measured, cipher, What::Signature)?))
    });
    Claim {
        name: "a-shared-key-saves-two-signatures",
        claim: "Signatures cost over a shared key only twice the signature generation, one at each end.",
        source: "§4.1",
        taken_as: "the difference of both totals is within 15 % of twice the server's signature",
    }
    .of_cases(cases.into_iter().filter(|(_, ratio)| ratio.is_finite()).map(|(cipher, ratio)| {
        let evidence = Evidence::new(format!("{}: saved, in pairs of signatures", cipher.name()), ratio, "");
        ((ratio - 1.0).abs() <= NEAR, evidence)
    }))
}

fn aggressive_mode_changes_no_cryptography(measured: Measured<'_>) -> Finding {
    const SAME: f64 = 0.03;
    let cases = known(|cipher| {
        let of = |way| Some(measured.server_crypto_ms(way, cipher)?.mean);
        Some(of(Way::AggressiveRsa)? / of(Way::MainRsa)? - 1.0)
    });
    Claim {
        name: "aggressive-mode-changes-no-cryptography",
        claim: "Aggressive mode changes nothing in what cryptography costs.",
        source: "§4.1",
        taken_as: "the cryptography at the server is within 3 % of main mode's",
    }
    .of_cases(
        cases
            .into_iter()
            .map(|(cipher, more)| (more.abs() <= SAME, Evidence::new(cipher.name(), more * 100.0, "% more"))),
    )
}

fn aggressive_mode_gains_little(measured: Measured<'_>) -> Finding {
    const LITTLE: f64 = 0.05;
    let cases = known(|cipher| {
        let (main, aggressive) =
            (measured.total_ms(Way::MainRsa, cipher)?, measured.total_ms(Way::AggressiveRsa, cipher)?);
        let skeletons = |way| Some(measured.skeleton(way, cipher)?.all.skeleton_ms.mean);
        let saved = skeletons(Way::MainRsa)? - skeletons(Way::AggressiveRsa)?;
        Some((saved, (main.mean - aggressive.mean) / main.mean))
    });
    Claim {
        name: "aggressive-mode-gains-little",
        claim: "Aggressive mode takes only about 5 ms less, 1.3 % of the whole.",
        source: "§4.1",
        taken_as: "its skeleton takes less, and the whole is less by at most 5 %",
    }
    .of_cases(cases.into_iter().map(|(cipher, (saved, part))| {
        let evidence = Evidence::new(format!("{}: skeleton less by", cipher.name()), saved * 1e3, "µs");
        (saved > 0.0 && part <= LITTLE, evidence)
    }))
}

fn cryptography_is_sixty_per_cent(measured: Measured<'_>) -> Finding {
    const NEAR: f64 = 10.0;
    let cases = Way::ALL.into_iter().filter_map(|way| {
        let shares = known(|cipher| measured.crypto_percent(way, cipher));
        let n = shares.len() as f64;
        let mean = (n > 0.0).then(|| shares.iter().map(|(_, share)| share).sum::<f64>() / n)?;
        let printed = super::published::crypto_percent(way).value;
        Some(((mean - printed).abs() <= NEAR, Evidence::new(way.name(), mean, "%")))
    });
    Claim {
        name: "cryptography-is-sixty-per-cent",
        claim: "Cryptography is about 60 % of the running time of IKE with signatures, and 32 % with a shared key.",
        source: "§4.1",
        taken_as: "within 10 points of that, means over the three ciphers",
    }
    .of_cases(cases)
}

fn subtraction_agrees_with_addition(measured: Measured<'_>) -> Finding {
    let cases = known(|cipher| Some(measured.skeleton(Way::MainRsa, cipher)?.all));
    Claim {
        name: "subtraction-agrees-with-addition",
        claim: "What goes away with the no-ops is very close to what the operations were timed to cost.",
        source: "§4.2, Table 2",
        taken_as: "at both ends together, the sum of the operations is within 10 % of full less skeleton",
    }
    .of_cases(cases.into_iter().map(|(cipher, sides)| {
        (sides.agrees, Evidence::new(cipher.name(), sides.difference * 100.0, "% more by addition"))
    }))
}

fn ike_costs_far_more_than_a_packet(measured: Measured<'_>) -> Finding {
    const FAR: f64 = 100.0;
    let cases = known(|cipher| {
        let packet_us = measured.packet(cipher)?.full.total_us.mean;
        Some(measured.total_ms(Way::MainRsa, cipher)?.mean * 1e3 / packet_us)
    });
    Claim {
        name: "ike-costs-far-more-than-a-packet",
        claim: "The overheads of IKE are considerably higher than those of ESP for a packet.",
        source: "§1, §4.1",
        taken_as: "a whole key exchange costs at least 100 pings through the tunnel (the paper's cost 1081)",
    }
    .of_cases(
        cases.into_iter().map(|(cipher, pings)| {
            (pings >= FAR, Evidence::new(format!("{}: pings", cipher.name()), pings, ""))
        }),
    )
}

/// The greatest stage of a way.
fn greatest(processing: &Processing, inbound: bool) -> Option<(&str, f64)> {
    let stages = if inbound { &processing.inbound } else { &processing.outbound };
    let greatest = stages.iter().max_by(|a, b| a.us.mean.total_cmp(&b.us.mean))?;
    Some((&greatest.stage, greatest.share * 100.0))
}

fn the_cipher_costs_esp_most(measured: Measured<'_>) -> Finding {
    let cases = known(|cipher| measured.packet(cipher)).into_iter().flat_map(|(cipher, column)| {
        let ways = [(true, "decrypt", "in"), (false, "encrypt", "out")];
        ways.into_iter().filter_map(move |(inbound, wanted, way)| {
            let (stage, share) = greatest(&column.full, inbound)?;
            let what = format!("{} {way}: {stage}", cipher.name());
            Some((stage == wanted, Evidence::new(what, share, "%")))
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
        Some(
            stages
                .filter(|stage| ["decrypt", "encrypt"].contains(&&*stage.stage))
                .map(|stage| stage.us.mean)
                .sum(),
        )
    };
    let ratio =
        |slow: f64, fast: f64| (slow / fast >= FACTOR, Evidence::new("times as long", slow / fast, ""));
    let both: (Option<f64>, Option<f64>) = (ciphering(Cipher::TripleDes192), ciphering(Cipher::Aes256));
    let cases = both.0.zip(both.1).map(|(slow, fast)| ratio(slow, fast));
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
    let cases = known(|cipher| Some(measured.packet(cipher)?.crypto_share * 100.0));
    Claim {
        name: "half-to-a-third-of-esp-is-cryptography",
        claim: "Cryptography is 55 % (3DES192), 34 % (AES128) and 37 % (AES256) of what ESP costs.",
        source: "§4.2",
        taken_as: "within 10 points of that, as a part of what ESP adds to the native processing",
    }
    .of_cases(cases.into_iter().map(|(cipher, share)| {
        let printed = super::published::esp_crypto_percent(cipher).value;
        ((share - printed).abs() <= NEAR, Evidence::new(cipher.name(), share, "%"))
    }))
}
