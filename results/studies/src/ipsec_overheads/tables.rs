//! The paper's tables, its figures as tables, and the numbers of its text.

use super::measured::{Measured, figure, plain};
use super::published::{self, OPERATIONS};
use super::{Cipher, Way};
use crate::published::Published;
use crate::{Figure, Line, Material, Table};
use keytoll_analysis::profile::{Estimate, PacketColumn, Processing, Sides, Stage};

/// All of them, in the paper's order.
pub(super) fn tables(material: &Material<'_>) -> Vec<Table> {
    let measured = Measured(material);
    let operations = Cipher::ALL.map(|cipher| operations(measured, cipher));
    let ike = [shares_of_operations(measured), totals(measured), shares(measured), skeleton(measured)];
    let esp = [esp(measured), esp_shares(measured), ciphering(measured), stages(measured)];
    operations.into_iter().chain(ike).chain(esp).collect()
}

fn table(title: impl Into<String>, unit: &str, columns: &[&str], lines: Vec<Line>) -> Table {
    let columns = columns.iter().map(|&column| column.to_owned()).collect();
    Table { title: title.into(), unit: unit.to_owned(), columns, lines }
}

fn line(label: impl Into<String>, cells: impl IntoIterator<Item = Option<Figure>>) -> Line {
    Line { label: label.into(), cells: cells.into_iter().collect() }
}

/// Measured numbers beside published ones.
fn beside(label: impl Into<String>, measured: Option<Figure>, published: Published) -> Line {
    line(label, [measured, Some(published.into())])
}

const BOTH: [&str; 2] = ["measured", "paper"];

fn operations(measured: Measured<'_>, cipher: Cipher) -> Table {
    let way = Way::MainRsa;
    let each = OPERATIONS.iter().map(|operation| {
        let ms = measured.operation(way, cipher, operation.what).map(Figure::from);
        beside(operation.label, ms, operation.ms(cipher))
    });
    let added = measured.operations_added_ms(cipher, &OPERATIONS).map(Figure::from);
    let all = measured.server_crypto_ms(way, cipher).map(|ms| figure(ms, 1.0));
    let sums = [
        beside("These together", added, published::operations_added_ms(cipher)),
        beside("Total", all, published::operations_total_ms(cipher)),
    ];
    let title = format!("Table 1, {}: cryptography at the server, main mode with signatures", cipher.name());
    table(title, "ms", &BOTH, each.chain(sums).collect())
}

fn shares_of_operations(measured: Measured<'_>) -> Table {
    let percent = |operation: &published::Operation, cipher| {
        let all = measured.operations_added_ms(cipher, &OPERATIONS)?;
        let ms = measured.operation(Way::MainRsa, cipher, operation.what)?;
        Some(Figure::from(ms.per(all).times(100.0)))
    };
    let each = OPERATIONS.iter().map(|operation| {
        let ours = Cipher::ALL.map(|cipher| percent(operation, cipher));
        let theirs = operation.percent(Cipher::TripleDes192);
        line(operation.label, ours.into_iter().chain([Some(theirs.into())]))
    });
    let columns = ["3DES192", "AES128", "AES256", "paper, 3DES192"];
    table("Table 1 as parts of these operations", "%", &columns, each.collect())
}

/// A line for each cipher.
fn of_ciphers<'a>(
    label: &'a str,
    measured: impl Fn(Cipher) -> Option<&'a Estimate> + 'a,
    published: impl Fn(Cipher) -> Published + 'a,
) -> impl Iterator<Item = Line> + 'a {
    Cipher::ALL.into_iter().map(move |cipher| {
        let measured = measured(cipher).map(|estimate| figure(estimate, 1.0));
        beside(format!("{label}, {}", cipher.name()), measured, published(cipher))
    })
}

fn totals(measured: Measured<'_>) -> Table {
    let client = of_ciphers(
        "crypto at the client",
        |cipher| measured.client_crypto_ms(cipher),
        published::client_crypto_ms,
    );
    let ways = Way::ALL.into_iter().flat_map(|way| {
        let lines = of_ciphers(
            way.name(),
            move |cipher| measured.total_ms(way, cipher),
            move |cipher| published::total_ms(way, cipher),
        );
        lines.collect::<Vec<_>>()
    });
    table("§4.1 and Table 2: both phases, both ends in lock-step", "ms", &BOTH, client.chain(ways).collect())
}

fn shares(measured: Measured<'_>) -> Table {
    let each = Way::ALL.map(|way| {
        let ours = Cipher::ALL.map(|cipher| measured.crypto_percent(way, cipher).map(Figure::from));
        line(way.name(), ours.into_iter().chain([Some(published::crypto_percent(way).into())]))
    });
    let columns = ["3DES192", "AES128", "AES256", "paper"];
    table("§4.1: cryptography as a part of the whole", "%", &columns, each.into())
}

/// A line of Table 2.
type SidesLine = (&'static str, fn(&Sides) -> &Estimate, fn(Cipher) -> Published);

fn skeleton(measured: Measured<'_>) -> Table {
    let lines: [SidesLine; 4] = [
        ("Full IKE", |sides| &sides.full_ms, |cipher| published::total_ms(Way::MainRsa, cipher)),
        ("Skeleton IKE", |sides| &sides.skeleton_ms, published::skeleton_ms),
        ("crypto by subtraction", |sides| &sides.by_subtraction_ms, published::by_subtraction_ms),
        ("crypto by addition", |sides| &sides.by_addition_ms, published::by_addition_ms),
    ];
    let each = lines.into_iter().flat_map(|(label, of, published)| {
        let measured = move |cipher| Some(of(&measured.skeleton(Way::MainRsa, cipher)?.all));
        of_ciphers(label, measured, published)
    });
    table("Table 2: full and skeleton, main mode with signatures", "ms", &BOTH, each.collect())
}

fn esp(measured: Measured<'_>) -> Table {
    let us = |of: fn(&PacketColumn) -> &Estimate| move |cipher| measured.packet(cipher).map(of);
    let full = of_ciphers("Full ESP", us(|column| &column.full.total_us), published::esp_full_us);
    let skeleton =
        of_ciphers("Skeleton ESP", us(|column| &column.skeleton.total_us), |_| published::esp_skeleton_us());
    let native = measured.packets().map(|packets| figure(&packets.native_us, 1.0));
    let native = beside("Native TCP/IP", native, published::esp_native_us());
    let inbound = measured.packet(Cipher::TripleDes192).map(|column| figure(&column.full.inbound_us, 1.0));
    let inbound = beside("Figure 4: inbound, 3DES192", inbound, published::inbound_us());
    let lines = full.chain(skeleton).chain([native, inbound]).collect();
    table("Table 3: a ping of 736 bytes through the tunnel and back, at the server", "µs", &BOTH, lines)
}

fn esp_shares(measured: Measured<'_>) -> Table {
    let each = Cipher::ALL.map(|cipher| {
        let ours = measured.esp_crypto_percent(cipher).map(Figure::from);
        let (text, from_table) =
            (published::esp_crypto_percent(cipher), published::esp_crypto_percent_of_table(cipher));
        line(cipher.name(), [ours, Some(text.into()), Some(from_table.into())])
    });
    let columns = ["measured", "paper's text", "by Table 3"];
    table("§4.2: cryptography as a part of what ESP adds", "%", &columns, each.into())
}

/// The numbers that Figure 4's text prints.
fn ciphering(measured: Measured<'_>) -> Table {
    let share = |stages: &[Stage], wanted: &str| {
        let found = stages.iter().find(|stage| stage.stage == wanted)?;
        Some(plain(found.share * 100.0))
    };
    let full = measured.packet(Cipher::TripleDes192).map(|column| &column.full);
    let inbound = full.and_then(|full| share(&full.inbound, "decrypt"));
    let outbound = full.and_then(|full| share(&full.outbound, "encrypt"));
    let lines = vec![
        beside("decryption, of the way in", inbound, published::decryption_percent()),
        beside("encryption, of the way out", outbound, published::encryption_percent()),
    ];
    table("Figure 4: what 3DES192 is of its way", "%", &BOTH, lines)
}

/// A direction of a packet, and its stages.
type Direction = (&'static str, fn(&Processing) -> &[Stage]);

/// Figure 5, which prints no numbers.
fn stages(measured: Measured<'_>) -> Table {
    let ways: [Direction; 2] =
        [("in", |processing| &processing.inbound), ("out", |processing| &processing.outbound)];
    let lines = ways.into_iter().flat_map(|(way, of)| {
        let first = measured.packet(Cipher::TripleDes192).map_or(&[][..], |column| of(&column.full));
        first.iter().map(move |stage| {
            let ours = Cipher::ALL.map(|cipher| {
                let stages = of(&measured.packet(cipher)?.full);
                let found = stages.iter().find(|other| other.stage == stage.stage)?;
                let is_too_short = measured.packets()?.is_below_clock_step(&found.us);
                (!is_too_short).then(|| figure(&found.us, 1e3))
            });
            line(format!("{way}: {}", stage.stage), ours)
        })
    });
    let columns = ["3DES192", "AES128", "AES256"];
    let title = "Figures 4 and 5: stages of a packet; the paper does not print their numbers";
    let step_us = measured.packets().and_then(|packets| packets.clock_step_us);
    let title = match step_us {
        Some(step_us) => {
            format!("{title}; empty if less than {:.0} ns, the step of the clock", step_us * 1e3)
        }
        None => title.to_owned(),
    };
    table(title, "ns", &columns, lines.collect())
}
