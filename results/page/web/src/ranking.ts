// Rankings whose weights can be moved: bars change and alternatives change places at once.

import { button, data, element, every, the } from './dom';
import { picture } from './draw';
import { csvButton, svgButton, tools } from './files';
import type { Ranking, Value } from './model';
import { percent, rankingChart } from './ranking-picture';
import { ranked, shares, siblings, varied, type Ranked } from './weights';

interface Bar {
  line: HTMLLIElement;
  rank: HTMLElement;
  fill: HTMLElement;
  score: HTMLElement;
}

interface Slider {
  input: HTMLInputElement;
  /** Not an `output`, whose every change would be heard: the slider says its value itself. */
  output: HTMLElement;
}

const digits = (ranking: Ranking, score: number): string =>
  ranking.rule === 'product' ? score.toPrecision(4) : score.toFixed(4);

/** The state and the elements of one ranking. */
class Movable {
  private weights: number[];
  private readonly first: number[];
  private readonly list = element('ol', { class: 'bars' });
  private readonly bars: Bar[];
  private readonly sliders: Slider[];
  private readonly words = element('p', { class: 'winner' });
  private readonly heard = element('p', { class: 'heard', role: 'status', 'aria-live': 'polite' });
  private announcing: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly figure: HTMLElement,
    private readonly ranking: Ranking,
  ) {
    this.first = ranking.criteria.map((criterion) => criterion.weight);
    this.weights = this.first.slice();
    this.bars = ranking.alternatives.map((alternative) => this.bar(alternative.name));
    this.sliders = ranking.criteria.map((_, node) => this.slider(node));
    this.place();
    this.show(false);
  }

  private bar(name: string): Bar {
    const [rank, fill, score] = [element('span', { class: 'rank' }), element('i', {}), element('span', { class: 'score' })];
    const track = element('span', { class: 'track', 'aria-hidden': 'true' }, fill);
    return { line: element('li', {}, rank, element('span', { class: 'name' }, name), track, score), rank, fill, score };
  }

  private slider(node: number): Slider {
    const { name } = this.ranking.criteria[node]!;
    const alone = siblings(this.ranking, node).length < 2;
    const id = `${this.ranking.id}-weight-${node}`;
    const input = element('input', { id, type: 'range', min: 0, max: 100, step: 1, disabled: alone, 'data-criterion': name });
    input.addEventListener('input', () => this.move(node, Number(input.value) / 100));
    return { input, output: element('span', { class: 'amount', 'aria-hidden': 'true' }) };
  }

  private move(node: number, weight: number): void {
    this.weights = varied(this.ranking, this.weights, node, weight);
    this.show(true);
  }

  /** The weights as the ranking came with them. */
  private reset(): void {
    this.weights = this.first.slice();
    this.show(true);
  }

  private place(): void {
    const groups = new Set(this.ranking.criteria.map((criterion) => criterion.under));
    const reset = button('Reset', `Reset the weights of ${this.ranking.title}`, () => this.reset());
    const controls = element('div', { class: 'sliders' }, ...[...groups].map((under) => this.group(under)), reset);
    const scores = element('div', { class: 'result' }, this.words, this.list, this.heard);
    every(':scope > .scores, :scope > .weights', this.figure).forEach((old) => old.remove());
    the('figcaption', this.figure).after(
      tools(
        csvButton(this.figure.id, this.ranking.title, () => this.lines()),
        svgButton(this.figure.id, this.ranking.title, () => picture(rankingChart(this.ranking, this.weights))),
      ),
      element('div', { class: 'movable' }, scores, controls),
    );
  }

  private group(under: number | null): HTMLFieldSetElement {
    const of = under === null ? 'Weights' : `Weights within ${this.ranking.criteria[under]!.name}`;
    const lines = this.ranking.criteria.flatMap((criterion, node) => {
      if (criterion.under !== under) return [];
      const { input, output } = this.sliders[node]!;
      const label = element('label', { for: input.id, title: criterion.title }, criterion.name);
      return [element('div', { class: 'slider' }, label, input, output)];
    });
    return element('fieldset', {}, element('legend', {}, of), ...lines);
  }

  private show(moved: boolean): void {
    const result = ranked(this.ranking, this.weights);
    const greatest = Math.max(...result.scores);
    this.bars.forEach(({ line, rank, fill, score }, place) => {
      line.dataset.score = `${result.scores[place]!}`;
      rank.textContent = `${result.ranks[place]!}`;
      fill.style.width = `${greatest > 0 ? (100 * result.scores[place]!) / greatest : 0}%`;
      score.textContent = digits(this.ranking, result.scores[place]!);
    });
    this.order(result);
    this.showWeights();
    this.words.textContent = this.sentence(result, moved);
    if (moved) this.announce(result);
  }

  private showWeights(): void {
    const all = shares(this.ranking, this.weights);
    this.sliders.forEach(({ input, output }, node) => {
      const text = percent(this.weights[node]!);
      if (document.activeElement !== input || Math.abs(Number(input.value) / 100 - this.weights[node]!) > 0.005) {
        input.value = `${Math.round(100 * this.weights[node]!)}`;
      }
      input.setAttribute('aria-valuetext', text);
      output.textContent = text;
      output.title = `${percent(all[node]!)} of everything`;
    });
  }

  /** Puts the bars in order; they move there where motion is welcome. */
  private order({ order }: Ranked): void {
    const before = this.bars.map(({ line }) => line.offsetTop);
    this.list.append(...order.map((place) => this.bars[place]!.line));
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    this.bars.forEach(({ line }, place) => {
      const way = before[place]! - line.offsetTop;
      if (way !== 0) line.animate([{ transform: `translateY(${way}px)` }, { transform: 'none' }], { duration: 180, easing: 'ease-out' });
    });
  }

  private sentence({ order, scores, ranks }: Ranked, moved: boolean): string {
    const name = (place: number) => this.ranking.alternatives[place]!.name;
    const whose = moved && this.weights.some((weight, node) => weight !== this.first[node]) ? 'With these weights' : 'With the weights of the ranking';
    const best = order.filter((place) => ranks[place] === 1);
    if (best.length > 1) return `${whose}, ${best.map(name).join(' and ')} share the first place.`;
    const [first, second] = order;
    if (first === undefined) return '';
    if (second === undefined) return `${whose}, ${name(first)} is first.`;
    const ahead = scores[second]! > 0 ? `, ${((scores[first]! / scores[second]! - 1) * 100).toFixed(1)} % ahead of ${name(second)}` : '';
    return `${whose}, ${name(first)} is first${ahead}.`;
  }

  /** For those who hear the page: once the slider rests. */
  private announce({ order }: Ranked): void {
    clearTimeout(this.announcing);
    this.announcing = setTimeout(() => {
      const names = order.map((place, at) => `${at + 1} ${this.ranking.alternatives[place]!.name}`);
      this.heard.textContent = `New order: ${names.join(', ')}`;
    }, 500);
  }

  /** The scores as they are now, with the weights they come from. */
  private lines(): Value[][] {
    const { order, scores, ranks } = ranked(this.ranking, this.weights);
    const of = (place: number): Value[] => [ranks[place]!, this.ranking.alternatives[place]!.name, scores[place]!];
    const weights = this.ranking.criteria.map((criterion, node): Value[] => ['', `weight of ${criterion.name}`, this.weights[node]!]);
    return [['rank', 'name', 'value'], ...order.map(of), ...weights];
  }
}

/** Takes charge of every ranking of the page. */
export const rankings = (): void =>
  every('figure.ranking').forEach((figure) => new Movable(figure, data<Ranking>(figure)));
