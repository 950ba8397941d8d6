//! Which method suits best by several criteria: a ranking whose weights can be moved, and how little must change until another one is the
//! best. Scores are those of `keytoll rank` with the same criteria, draws and seed.

use std::path::Path;

use keytoll_analysis::{Findings, Named};
use keytoll_page::{self as page, Block, Cell, Chart, Rule, Section, Table};
use keytoll_ranking::acceptability::Weights;
use keytoll_ranking::file::{BUILTIN, MEASURED};
use keytoll_ranking::methods::METHODS;
use keytoll_ranking::outcome::{Change, Changed, Drawn, Sensitivity, TornadoBar, Weight};
use keytoll_ranking::weighed::Chosen;
use keytoll_ranking::{Authentications, Case, Criteria, Options, Ranking};
use keytoll_studies::{Material, against_the_slides};
use serde_json::{Value, json};

use super::figure::{Bar, Frame, SERIES_MAX, columns, parts_of, spec, stacked};
use super::tables::{number, plain, text};
use crate::number;

/// Monte-Carlo draws: shares are exact to two hundredths, and the page is written at once.
const DRAWS: u32 = 4000;
/// Their seed, that of `keytoll rank`.
const SEED: u64 = 1;

/// Sensitivity curves that are open; the others are folded.
const OPEN_MAX: usize = 4;

/// The section: by the default criteria if the run has their alternatives, else by those that rank any run. Where neither does, it says why;
/// nothing for a run with one method alone.
pub(super) fn section(findings: &Findings, run: Option<&Path>) -> Option<Section> {
    let first = findings.summary.rows.first()?.subject();
    if findings.summary.rows.iter().all(|row| row.subject() == first) {
        return None;
    }
    let blocks = |blocks, sections| Section {
        id: "ranking".to_owned(),
        title: "Ranking".to_owned(),
        blocks,
        sections,
    };
    Some(match best(findings, run) {
        Ok((name, criteria, ranking)) => {
            let sheet = Sheet { name, criteria: &criteria, ranking: &ranking };
            blocks(sheet.blocks(), sheet.sections())
        }
        Err(why) => blocks(vec![Block::Note(format!("These rows are not ranked: {why}. {OWN}"))], Vec::new()),
    })
}

const OWN: &str = "`keytoll rank RUN --criteria FILE` ranks by criteria of your own (criteria/README.md).";

/// The first of the built-in criteria that rank the run; else why those for any run do not.
fn best(findings: &Findings, run: Option<&Path>) -> Result<(&'static str, Criteria, Ranking), String> {
    let of = |name: &'static str| {
        let criteria = Criteria::find(name).map_err(|error| error.to_string())?;
        let options = Options { method: &METHODS[0], weights: Chosen::default(), draws: DRAWS, seed: SEED };
        let case = Case::new(&criteria, &findings.summary).map_err(|error| error.to_string())?;
        let authentications = authentications(&case, run);
        let mut ranking = case.rank(&authentications, &options, &|| {}).map_err(|error| error.to_string())?;
        let Findings { summary, supplement, .. } = findings;
        ranking.notes.extend(against_the_slides(name, &Material { summary, supplement }));
        Ok((name, criteria, ranking))
    };
    of(BUILTIN[0].name).or_else(|_: String| of(MEASURED))
}

/// The single authentications of the run, if it has a directory; if they cannot be read, the page says why.
fn authentications(case: &Case<'_>, run: Option<&Path>) -> Authentications {
    let none = || Authentications::Unread("there are no single authentications of it".to_owned());
    run.map_or_else(none, |run| {
        let read = Authentications::read(run, &case.estimates());
        read.unwrap_or_else(|error| Authentications::Unread(error.to_string()))
    })
}

/// A ranking about to be shown.
struct Sheet<'a> {
    name: &'static str,
    criteria: &'a Criteria,
    ranking: &'a Ranking,
}

impl Sheet<'_> {
    fn blocks(&self) -> Vec<Block> {
        let Ranking { criteria_title, criteria_source, about, .. } = self.ranking;
        let source =
            if criteria_source.is_empty() { String::new() } else { format!(" Source: {criteria_source}.") };
        let title = Block::Text(format!("By the criteria “{criteria_title}” ({about}).{source}"));
        let notes = self.ranking.notes.iter().cloned().map(Block::Text);
        let rest = [
            Block::Ranking(self.weights()),
            Block::Table(self.table()),
            Block::Text(self.nearest()),
            Block::Code(format!("keytoll rank RUN --criteria {} --draws {DRAWS}", self.name)),
            Block::Note(OWN.to_owned()),
        ];
        std::iter::once(title).chain(notes).chain(rest).collect()
    }

    fn sections(&self) -> Vec<Section> {
        let section = |id: &str, title: &str, blocks| Section {
            id: format!("ranking-{id}"),
            title: title.to_owned(),
            blocks,
            sections: Vec::new(),
        };
        let told = self.ranking.measurements.iter().map(|it| Block::Text(it.told.clone()));
        let drawn = self.ranking.acceptability.iter().filter_map(acceptability).map(Block::Chart);
        vec![
            section("sensitivity", "If a weight were another", self.sensitivity()),
            section("acceptability", "If nothing were known exactly", told.chain(drawn).collect()),
            section(
                "tornado",
                "What the lead depends on",
                self.tornado().map(Block::Chart).into_iter().collect(),
            ),
        ]
    }

    /// The sliders.
    fn weights(&self) -> page::Ranking {
        let criteria = &self.ranking.criteria;
        let place = |name: &String| criteria.iter().position(|criterion| criterion.name == *name);
        let criterion = |it: &Weight| page::Criterion {
            name: it.name.clone(),
            title: it.title.clone(),
            under: it.under.as_ref().and_then(place),
            weight: it.weight,
        };
        let gammas = self.criteria.criteria.iter().map(|criterion| criterion.gamma);
        let graded: Vec<_> = criteria.iter().zip(gammas).collect();
        let steps = |name: &str| {
            graded.iter().map(|(it, gamma)| Some(it.grades.as_ref()?.get(name)? * gamma)).collect()
        };
        let alternatives = self.ranking.alternatives.iter().map(|it| page::Weighed {
            name: it.name.clone(),
            steps: steps(&it.name),
            score: it.score,
        });
        page::Ranking {
            id: "ranking-weights".to_owned(),
            title: "Scores by weights: move one, and the others of its group share what is left".to_owned(),
            rule: Rule::Multiplicative,
            criteria: criteria.iter().map(criterion).collect(),
            alternatives: alternatives.collect(),
            note: self.origins(),
        }
    }

    fn origins(&self) -> String {
        let weights = match self.name {
            MEASURED => {
                "All weights are equal, which is an example and nobody's judgement. A grade less is twice the best value."
            }
            _ => {
                "Weights are those of the criteria file; grades of performance are from this run, the others from the file."
            }
        };
        format!("{weights} Scores are shares of all alternatives and add up to 1.")
    }

    /// The alternatives with the values or grades that their scores come of.
    fn table(&self) -> Table {
        let leaves: Vec<&Weight> = self.ranking.criteria.iter().filter(|it| it.grades.is_some()).collect();
        let head = |it: &&Weight| {
            let (unit, _) = scaled(it.unit.as_deref());
            page::Column {
                head: it.name.clone(),
                unit: unit.to_owned(),
                meaning: it.title.clone(),
                is_number: true,
            }
        };
        let first = [plain("method", "", ""), number_head("rank"), number_head("score")];
        let cell = |it: &&Weight, name: &str| {
            let (_, factor) = scaled(it.unit.as_deref().filter(|_| it.values.is_some()));
            shown(it.values.as_ref().or(it.grades.as_ref()), name, factor)
        };
        let line = |it: &keytoll_ranking::outcome::Ranked| {
            let rank = number(it.rank.to_string(), it.rank as f64);
            let score = number(format!("{:.3}", it.score), it.score);
            let cells = leaves.iter().map(|leaf| cell(leaf, &it.name));
            [text(&it.name), rank, score].into_iter().chain(cells).collect()
        };
        Table {
            id: "ranking-table".to_owned(),
            caption: "The ranking, and what each is graded by: a value that was measured, or else a grade"
                .to_owned(),
            columns: first.into_iter().chain(leaves.iter().map(head)).collect(),
            lines: self.ranking.alternatives.iter().map(line).collect(),
        }
    }

    /// How little must change.
    fn nearest(&self) -> String {
        let best = self.ranking.alternatives.first().map_or("", |best| &best.name);
        match &self.ranking.nearest_other_winner {
            None => format!("{best} stays the best whatever the weight of any single criterion is."),
            Some(it) => {
                let other = if it.above == best { &it.below } else { &it.above };
                let (from, to) = (number::plain(it.weight), number::plain(it.at));
                format!(
                    "{best} stays the best until the weight of {} goes from {from} to {to}: then it is {other}.",
                    it.criterion
                )
            }
        }
    }

    /// A chart for each criterion, then a table of all crossings.
    fn sensitivity(&self) -> Vec<Block> {
        let all = self.ranking.sensitivity.iter().filter(|it| it.weight < 1.0);
        let charts: Vec<Block> = all.map(|it| Block::Chart(self.curve(it))).collect();
        let open = charts.iter().take(OPEN_MAX).cloned();
        let folded: Vec<Block> = charts.iter().skip(OPEN_MAX).cloned().collect();
        let folded = (!folded.is_empty()).then(|| Block::Details("The other criteria".to_owned(), folded));
        open.chain(folded).chain([Block::Table(self.crossings())]).collect()
    }

    fn curve(&self, it: &Sensitivity) -> Chart {
        let drawn: Vec<&str> = self.first().collect();
        let point = |weight: f64, scores: &Named<f64>| -> Vec<Vec<Value>> {
            let line = |name: &&str| {
                vec![json!("score"), json!(name), json!(weight), json!(scores.get(name)), json!(null)]
            };
            drawn.iter().map(line).collect()
        };
        let now = vec![json!("weight"), json!(null), json!(it.weight), json!(null), json!("weight now")];
        let crossing = |Change { at, above, below }: &Change| {
            let told = format!("{above} overtakes {below}");
            vec![json!("crossing"), json!(above), json!(at), json!(score_at(it, *at, above)), json!(told)]
        };
        let is_drawn =
            |it: &&Change| drawn.contains(&it.above.as_str()) && drawn.contains(&it.below.as_str());
        let scores = it.curve.iter().flat_map(|at| point(at.weight, &at.scores));
        let keeps = format!(
            "The best stays the best for weights from {} to {}.",
            number::plain(it.winner_keeps_from),
            number::plain(it.winner_keeps_to)
        );
        Chart {
            id: format!("ranking-{}", super::anchor(&it.criterion)),
            title: format!("Scores by the weight of {} within its group", it.criterion),
            description: format!("How scores change with the weight of {}. {keeps}", it.criterion),
            note: format!(
                "Dashed: the weight now, {}. Points: changes of places. {keeps}{}",
                number::plain(it.weight),
                self.left_out()
            ),
            spec: spec(of_weights()),
            columns: columns(&["kind", "alternative", "weight", "score", "what"]),
            lines: scores.chain([now]).chain(it.crossings.iter().filter(is_drawn).map(crossing)).collect(),
            instead: keeps,
        }
    }

    /// The alternatives that are drawn: as many as there are colours, the best of them.
    fn first(&self) -> impl Iterator<Item = &str> {
        self.ranking.alternatives.iter().take(SERIES_MAX).map(|it| it.name.as_str())
    }

    /// What a chart says if there are more.
    fn left_out(&self) -> String {
        match self.ranking.alternatives.len() {
            count if count > SERIES_MAX => format!(
                " Drawn are the first {SERIES_MAX} of {count}: the changes of places of all are in the table of this section, and \
                 `keytoll rank --json` has the scores of all by weight."
            ),
            _ => String::new(),
        }
    }

    fn crossings(&self) -> Table {
        let lines = self.ranking.sensitivity.iter().flat_map(|it| {
            let line = |Change { at, above, below }: &Change| {
                let weights = [it.weight, *at].map(|weight| number(format!("{weight:.3}"), weight));
                let names = [above, below].map(|name| text(name));
                std::iter::once(text(&it.criterion)).chain(weights).chain(names).collect()
            };
            it.crossings.iter().map(line).collect::<Vec<_>>()
        });
        let columns = [
            plain("criterion", "", ""),
            number_head("weight now"),
            number_head("weight at which both are equal"),
            plain("ahead above it", "", ""),
            plain("ahead below it", "", ""),
        ];
        Table {
            id: "ranking-crossings".to_owned(),
            caption: "Every change of places by the weight of one criterion".to_owned(),
            columns: columns.to_vec(),
            lines: lines.collect(),
        }
    }

    fn tornado(&self) -> Option<Chart> {
        let title =
            "The lead of the best over the second if one thing is otherwise, in steps of the factor 2";
        let lead = self.ranking.lead;
        let line = |it: &TornadoBar| {
            let what = match it.input {
                Changed::Weight => "weight halved or doubled",
                Changed::Grade => "a grade less or more",
            };
            let label = format!("{}: {what}", it.criterion);
            vec![json!(label), json!(it.less), json!(it.more), json!(lead)]
        };
        let told = self
            .ranking
            .tornado
            .iter()
            .take(3)
            .map(|it| format!("{} from {:.2} to {:.2}", it.criterion, it.less, it.more));
        let instead = format!("lead {lead:.2}; widest: {}", told.collect::<Vec<_>>().join("; "));
        (!self.ranking.tornado.is_empty()).then(|| Chart {
            id: "ranking-lead".to_owned(),
            title: title.to_owned(),
            description: format!("{title}: {instead}."),
            note: "Widest first. Dashed: the lead as it is. Below zero the second is ahead.".to_owned(),
            spec: spec(of_bars()),
            columns: columns(&["what", "less", "more", "lead"]),
            lines: self.ranking.tornado.iter().map(line).collect(),
            instead,
        })
    }
}

fn number_head(head: &str) -> page::Column {
    page::Column { head: head.to_owned(), is_number: true, ..page::Column::default() }
}

/// Nanoseconds as microseconds, as everywhere on the page.
fn scaled(unit: Option<&str>) -> (&str, f64) {
    match unit {
        Some("ns") => ("µs", 1e-3),
        unit => (unit.unwrap_or_default(), 1.0),
    }
}

fn shown(of: Option<&Named<f64>>, name: &str, factor: f64) -> Cell {
    let value = of.and_then(|values| values.get(name)).map(|value| value * factor);
    value.map_or_else(|| text("–"), |value| number(number::plain(value), value))
}

/// The score of an alternative at the point of the curve that is nearest to a weight.
fn score_at(it: &Sensitivity, weight: f64, name: &str) -> Option<f64> {
    let distance = |at: &&keytoll_ranking::outcome::Point| (at.weight - weight).abs();
    let nearest = it.curve.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
    nearest.scores.get(name).copied()
}

fn of_weights() -> Value {
    let of = |kind: &str| json!([{ "filter": { "field": "kind", "equal": kind } }]);
    let colour = json!({ "field": "alternative", "type": "nominal", "sort": null, "title": null });
    json!({
        "height": 220,
        "encoding": {
            "x": { "field": "weight", "type": "quantitative", "scale": { "domain": [0, 1] } },
            "y": { "field": "score", "type": "quantitative", "scale": { "zero": true } },
        },
        "layer": [
            { "transform": of("score"), "mark": { "type": "line", "strokeWidth": 1.5 }, "encoding": { "color": colour } },
            {
                "transform": of("weight"), "mark": { "type": "rule", "strokeDash": [4, 4] },
                "encoding": { "x": { "field": "weight", "type": "quantitative" }, "y": null },
            },
            {
                "transform": of("crossing"), "mark": { "type": "point", "filled": true, "size": 40 },
                "encoding": {
                    "color": colour,
                    "tooltip": [{ "field": "what" }, { "field": "weight", "type": "quantitative", "format": ".3f" }],
                },
            },
        ],
    })
}

/// How often each alternative has each rank.
fn acceptability(drawn: &Drawn) -> Option<Chart> {
    let (id, title) = match drawn.weights {
        Weights::Near => (
            "near",
            "How often each is first, second, …, if every weight and grade may be half a step otherwise, %",
        ),
        Weights::Any => ("any", "How often each is first, second, …, whatever the weights are, %"),
    };
    let bar = |name: &str, part: String, share: f64| Bar {
        label: name.to_owned(),
        part,
        value: 100.0 * share,
        interval: None,
        n: Some(u64::from(DRAWS)),
    };
    let own = if drawn.alternatives.len() > SERIES_MAX { SERIES_MAX - 1 } else { SERIES_MAX };
    let bars = drawn.alternatives.iter().flat_map(|it| {
        let first = it.ranks.iter().take(own).enumerate();
        let first = first.map(|(place, share)| bar(&it.name, format!("rank {}", place + 1), *share));
        let later = it.ranks.get(own..).filter(|later| !later.is_empty());
        let later =
            later.map(|later| bar(&it.name, format!("rank {} or later", own + 1), later.iter().sum()));
        first.chain(later).collect::<Vec<_>>()
    });
    let merged = match drawn.alternatives.len() {
        count if count > SERIES_MAX => {
            format!(" Of {count} ranks the last are one part: `keytoll rank --json` has each.")
        }
        _ => String::new(),
    };
    let note = format!(
        "{DRAWS} Monte-Carlo draws, seed {SEED} (SMAA-2): shares are exact to about two hundredths.{merged}"
    );
    let frame = Frame { id: format!("ranking-{id}"), title: title.to_owned(), note, unit: "%" };
    let bars: Vec<Bar> = bars.collect();
    let ranks = parts_of(bars.iter().map(|bar| bar.part.as_str()));
    stacked(frame, &bars, &ranks)
}

fn of_bars() -> Value {
    let y = json!({ "field": "what", "type": "nominal", "sort": null, "title": null });
    json!({
        "encoding": { "y": y },
        "layer": [
            {
                "mark": { "type": "bar", "height": { "band": 0.6 } },
                "encoding": {
                    "x": { "field": "less", "type": "quantitative", "title": "lead" }, "x2": { "field": "more" },
                    "tooltip": [
                        { "field": "what" }, { "field": "less", "type": "quantitative", "format": ".3f" },
                        { "field": "more", "type": "quantitative", "format": ".3f" },
                    ],
                },
            },
            {
                "mark": { "type": "rule", "strokeDash": [4, 4] },
                "encoding": { "x": { "aggregate": "mean", "field": "lead", "type": "quantitative" }, "y": null },
            },
        ],
    })
}
