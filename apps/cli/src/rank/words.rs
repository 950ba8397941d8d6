//! A ranking in tables and sentences.

use keytoll_analysis::Named;
use keytoll_ranking::acceptability::Weights;
use keytoll_ranking::file::Standing;
use keytoll_ranking::outcome::{
    Accepted, Changed, Drawn, OfExperts, Ranked, Ranking, Reversal, Sensitivity, TornadoBar, Weight,
};
use keytoll_ranking::weighed::Origin;

use crate::screen;

/// The whole text.
pub(crate) fn text(ranking: &Ranking) -> String {
    let parts = [
        order(ranking),
        weights(ranking),
        ranking.opinions.iter().map(experts).collect(),
        grades(ranking),
        sensitivity(ranking),
        draws(ranking),
        tornado(ranking),
        others(ranking),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn section(title: &str, body: &str) -> String {
    format!("{}{body}", screen::paragraph(title))
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

/// Without a sign if it is rounded to nothing.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.trim_start_matches('-').bytes().all(|byte| matches!(byte, b'0' | b'.')) {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

fn order(ranking: &Ranking) -> String {
    let row = |place: &Ranked| {
        let rank = place.rank.to_string();
        cells([&rank, &place.name, &number(place.score, 4), &place.method])
    };
    let head = cells(["", "alternative", "score", "method of the run"]);
    let rows: Vec<_> = std::iter::once(head).chain(ranking.alternatives.iter().map(row)).collect();
    let titles = [
        screen::paragraph(&ranking.criteria_title),
        screen::paragraph(&format!("run: {}", ranking.run)),
        screen::paragraph(&format!("{}: {}", ranking.method, ranking.about)),
    ];
    let incomplete =
        if ranking.complete { "" } else { "The run was interrupted: its rows are not complete.\n" };
    let notes: String = ranking.notes.iter().map(|note| screen::paragraph(note)).collect();
    let lead = screen::paragraph(&lead(ranking));
    format!("{}{incomplete}\n{}{lead}{notes}", titles.concat(), screen::table(&rows))
}

fn lead(ranking: &Ranking) -> String {
    let [first, second, ..] = &ranking.alternatives[..] else { return String::new() };
    if first.rank == second.rank {
        return format!("`{}` and `{}` are equally good.", first.name, second.name);
    }
    if !is_in_steps(ranking) {
        return format!("`{}` leads `{}` by {}.", first.name, second.name, number(ranking.lead, 4));
    }
    let percent = 100.0 * (ranking.lead.exp2() - 1.0);
    let digits = if percent < 10.0 { 2 } else { 0 };
    format!("`{}` scores {} % higher than `{}`.", first.name, number(percent, digits), second.name)
}

/// Whether utilities are steps of the factor 2 between scores.
fn is_in_steps(ranking: &Ranking) -> bool {
    matches!(ranking.method.as_str(), "mahp" | "wpm")
}

fn weights(ranking: &Ranking) -> String {
    let row = |criterion: &Weight| {
        let indent = if criterion.under.is_some() { "  " } else { "" };
        let origin = match criterion.origin {
            Origin::Stated => "stated",
            Origin::Experts => "experts",
            Origin::Importance => "importance",
            Origin::Equal => "equal",
            Origin::Given => "command line",
        };
        let (weight, share) = (number(criterion.weight, 4), number(criterion.share, 4));
        let name = format!("{indent}{}", criterion.name);
        cells([&name, &weight, origin, &share, criterion.standing.name(), &criterion.title])
    };
    let head = cells(["criterion", "weight", "from", "in all", "numbers are", "meaning"]);
    let rows: Vec<_> = std::iter::once(head).chain(ranking.criteria.iter().map(row)).collect();
    section("weights, within the group and in all", &screen::table(&rows))
}

fn experts(opinion: &OfExperts) -> String {
    let row = |expert: &keytoll_ranking::outcome::OfExpert| {
        let importance = number(expert.importance, 2);
        let (group, own) = (number(expert.residual_steps, 2), number(expert.contradiction_steps, 2));
        cells([&expert.name, &importance, &group, &own, expert.standing.name()])
    };
    let head = cells(["expert", "importance", "from all", "from itself", "judgements are"]);
    let rows: Vec<_> = std::iter::once(head).chain(opinion.experts.iter().map(row)).collect();
    let about = opinion.under.as_ref().map_or("the main criteria".to_owned(), |under| format!("`{under}`"));
    let title = format!("experts on {about}: how far each is from all, and from itself, in steps");
    let all = screen::paragraph(&format!("All experts: {}.", listed(&opinion.weights, 4)));
    let printed = opinion.printed.as_ref().map(|weights| {
        let alone = "Without judgements that are derived or reconstructed";
        screen::paragraph(&format!("{alone}: {}.", listed(weights, 4)))
    });
    section(&title, &[screen::table(&rows), all, printed.unwrap_or_default()].concat())
}

fn listed(numbers: &Named<f64>, digits: usize) -> String {
    let shown = numbers.iter().map(|(name, value)| format!("{name} {}", number(*value, digits)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Grades, and below them the values they are made of.
fn grades(ranking: &Ranking) -> String {
    let row = |criterion: &Weight| {
        let grades = criterion.grades.as_ref()?;
        let measured = criterion.measure.as_ref().zip(criterion.values.as_ref()).map(|(measure, values)| {
            let unit = criterion.unit.as_deref().filter(|unit| !unit.is_empty());
            let unit = unit.map_or(String::new(), |unit| format!(" in {unit}"));
            screen::below(&format!("{measure}{unit}: {}", listed(values, 1)))
        });
        let line = screen::table(&[cells([&criterion.name, &listed(grades, digits(grades))])]);
        Some(format!("{line}{}", measured.unwrap_or_default()))
    };
    section("grades", &ranking.criteria.iter().filter_map(row).collect::<String>())
}

/// Fractions of grades have as many digits as weights have.
fn digits(grades: &Named<f64>) -> usize {
    let is_whole = |grade: f64| grade.fract() == 0.0;
    if grades.iter().all(|(_, grade)| is_whole(*grade)) { 0 } else { 4 }
}

fn sensitivity(ranking: &Ranking) -> String {
    let mains = |sweep: &&Sensitivity| {
        let of = ranking.criteria.iter().find(|criterion| criterion.name == sweep.criterion);
        of.is_some_and(|criterion| criterion.under.is_none())
    };
    let best = ranking.alternatives.first().map_or("", |best| &best.name);
    let sweeps = ranking.sensitivity.iter();
    let mut lines: Vec<String> = sweeps.clone().filter(mains).map(|sweep| main(sweep, best)).collect();
    let below = sweeps.filter(|sweep| !mains(sweep)).filter(|sweep| is_sensitive(sweep));
    lines.extend(below.map(|sweep| kept(sweep, best)));
    lines.push(nearest("Nearest change", ranking.nearest_reversal.as_ref()));
    lines.push(nearest("Nearest change of the best", ranking.nearest_other_winner.as_ref()));
    let lines: String = lines.iter().map(|line| screen::paragraph(line)).collect();
    section("sensitivity to a weight within its group, from 0 to 1", &lines)
}

/// Whether another one can be the best.
fn is_sensitive(sweep: &Sensitivity) -> bool {
    sweep.winner_keeps_from > 0.0 || sweep.winner_keeps_to < 1.0
}

fn kept(sweep: &Sensitivity, best: &str) -> String {
    let (criterion, weight) = (&sweep.criterion, number(sweep.weight, 4));
    if !is_sensitive(sweep) {
        return format!("{criterion} (now {weight}): `{best}` is the best with any weight.");
    }
    let (from, to) = (number(sweep.winner_keeps_from, 4), number(sweep.winner_keeps_to, 4));
    format!("{criterion} (now {weight}): `{best}` is the best from {from} to {to}.")
}

/// With every change of places.
fn main(sweep: &Sensitivity, best: &str) -> String {
    let crossing = |change: &keytoll_ranking::outcome::Change| {
        let way = if change.at < sweep.weight { "Below" } else { "Above" };
        let (gains, loses) = overtaking(sweep.weight, change.at, &change.above, &change.below);
        format!("{way} {} `{gains}` overtakes `{loses}`.", number(change.at, 4))
    };
    let crossings: Vec<_> = sweep.crossings.iter().map(crossing).collect();
    let kept = kept(sweep, best);
    if crossings.is_empty() {
        return format!("{kept} The order does not change.");
    }
    format!("{kept} {}", crossings.join(" "))
}

/// The alternative that overtakes the other one if a weight moves from its present value beyond a crossing: below the crossing `below` is
/// ahead.
fn overtaking<'a>(weight: f64, at: f64, above: &'a str, below: &'a str) -> (&'a str, &'a str) {
    if at < weight { (below, above) } else { (above, below) }
}

fn nearest(what: &str, reversal: Option<&Reversal>) -> String {
    let Some(Reversal { criterion, weight, at, above, below }) = reversal else {
        return format!("{what}: none by any single weight.");
    };
    let way = if at < weight { "falls below" } else { "rises above" };
    let (gains, loses) = overtaking(*weight, *at, above, below);
    let (at, now) = (number(*at, 4), number(*weight, 4));
    format!("{what}: if the weight of `{criterion}` {way} {at} (now {now}), `{gains}` overtakes `{loses}`.")
}

fn draws(ranking: &Ranking) -> String {
    let tables: String = ranking.acceptability.iter().map(drawn).collect();
    let title = format!(
        "{} draws (seed {}): of weights, of grades that people gave, within half a grade and independently for each alternative, and \
         of measured values",
        ranking.draws, ranking.seed
    );
    let told = ranking.measurements.as_ref().map(|measurements| screen::paragraph(&measurements.told));
    section(&title, &format!("{}{tables}", told.unwrap_or_default()))
}

fn drawn(drawn: &Drawn) -> String {
    let title = match drawn.weights {
        Weights::Near => {
            "  weights as here, each within half a gradation: parts of the draws with each rank\n"
        }
        Weights::Any => "  any weights\n",
    };
    let places = drawn.alternatives.len();
    let rows = if places > COLUMNS_MAX { likely(drawn) } else { every(drawn) };
    format!("{title}{}", screen::table(&rows))
}

/// Beyond this many ranks a table has no column for each.
const COLUMNS_MAX: usize = 8;

/// A column for each rank.
fn every(drawn: &Drawn) -> Vec<Vec<String>> {
    let row = |accepted: &Accepted| {
        let ranks = accepted.ranks.iter().map(|part| percent(*part));
        std::iter::once(accepted.name.clone()).chain(ranks).collect::<Vec<_>>()
    };
    let places = drawn.alternatives.len();
    let head = std::iter::once(String::new()).chain((1..=places).map(|place| place.to_string())).collect();
    std::iter::once(head).chain(drawn.alternatives.iter().map(row)).collect()
}

/// The ranks that an alternative has in a thousandth of the draws or more.
fn likely(drawn: &Drawn) -> Vec<Vec<String>> {
    let row = |accepted: &Accepted| {
        let ranks = (1..).zip(&accepted.ranks).filter(|(_, part)| **part >= 0.001);
        let ranks: Vec<String> = ranks.map(|(rank, part)| format!("{rank} {}", percent(*part))).collect();
        cells([&accepted.name, &ranks.join(", ")])
    };
    let head = cells(["", "each rank with 0.1 % of the draws or more"]);
    std::iter::once(head).chain(drawn.alternatives.iter().map(row)).collect()
}

fn percent(part: f64) -> String {
    format!("{} %", number(100.0 * part, 1))
}

/// How many bars are shown; all are in the JSON.
const BARS: usize = 8;

fn tornado(ranking: &Ranking) -> String {
    let row = |bar: &TornadoBar| {
        let what = match bar.input {
            Changed::Weight => format!("weight of {}, a gradation", bar.criterion),
            Changed::Grade => format!("grade of the best by {}, a grade", bar.criterion),
        };
        cells([&what, &number(bar.less, 3), &number(bar.more, 3)])
    };
    let head = cells(["input", "less", "more"]);
    let bars = ranking.tornado.iter().take(BARS).map(row);
    let rows: Vec<_> = std::iter::once(head).chain(bars).collect();
    let title = format!(
        "the lead of the best over the second (now {}) if one input changes",
        number(ranking.lead, 3)
    );
    let unit = if is_in_steps(ranking) { " (in steps of the factor 2)" } else { "" };
    let legend = format!(
        "less, more: the lead{unit} if the input is one gradation or grade less or more; negative: the second overtakes the best."
    );
    section(&title, &(screen::table(&rows) + &screen::paragraph(&legend)))
}

fn others(ranking: &Ranking) -> String {
    let row = |order: &keytoll_ranking::outcome::Order| cells([&order.method, &order.order.join(", ")]);
    let unrounded: Vec<_> = ranking.unrounded.iter().map(|one| one.name.as_str()).collect();
    let fractions = cells([&format!("{}, unrounded", ranking.method), &unrounded.join(", ")]);
    let rows: Vec<_> = ranking.methods.iter().map(row).chain([fractions]).collect();
    let doubtful = ranking.criteria.iter().filter(|criterion| is_doubtful(criterion.standing)).count();
    let note =
        format!("Numbers of {doubtful} criteria are derived or reconstructed: --json has their sources.");
    let note = if doubtful > 0 { screen::paragraph(&note) } else { String::new() };
    section("order by every method of ranking, and with fractions of grades", &(screen::table(&rows) + &note))
}

const fn is_doubtful(standing: Standing) -> bool {
    matches!(standing, Standing::Derived | Standing::Reconstructed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_change_is_in_the_direction_of_the_crossing() {
        let at = |at: f64| {
            let [criterion, above, below] = ["fast", "psk", "tls"].map(str::to_owned);
            nearest("Nearest change", Some(&Reversal { criterion, weight: 0.6, at, above, below }))
        };
        assert_eq!(
            at(0.5166),
            "Nearest change: if the weight of `fast` falls below 0.5166 (now 0.6000), `tls` overtakes `psk`."
        );
        assert_eq!(
            at(0.7),
            "Nearest change: if the weight of `fast` rises above 0.7000 (now 0.6000), `psk` overtakes `tls`."
        );
    }

    #[test]
    fn of_many_alternatives_the_likely_ranks_are_shown() {
        let accepted = |first: usize| {
            let mut ranks = vec![0.0; 9];
            (ranks[first], ranks[(first + 1) % 9], ranks[(first + 2) % 9]) = (0.75, 0.2495, 0.0005);
            Accepted { name: format!("m{first}"), ranks, central_weights: None }
        };
        let of = |count: usize| {
            drawn(&Drawn { weights: Weights::Any, alternatives: (0..count).map(accepted).collect() })
        };
        assert!(of(9).contains("\n  m0  1 75.0 %, 2 24.9 %\n"), "{}", of(9));
        assert!(of(9).contains("\n  m8  1 24.9 %, 9 75.0 %\n"), "{}", of(9));
        assert!(of(2).contains("0.1 %"), "few have a column for each: {}", of(2));
    }
}
