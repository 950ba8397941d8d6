// How charts look: the configuration that every Vega-Lite specification gets.

import { colour, SERIES } from './palette';

/** Fonts that are on the reader's machine; none is embedded. */
export const FONT = 'Inter, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif';

const axis = {
  labelColor: colour('ink'),
  labelFontSize: 12,
  labelPadding: 5,
  titleColor: colour('faint'),
  titleFontSize: 12,
  titleFontWeight: 'normal',
  titlePadding: 8,
  gridColor: colour('line'),
  domainColor: colour('edge'),
  tickColor: colour('edge'),
  tickSize: 4,
};

const legend = {
  orient: 'top',
  direction: 'horizontal',
  title: null,
  labelColor: colour('ink'),
  labelFontSize: 12,
  labelLimit: 320,
  titleColor: colour('faint'),
  titleFontWeight: 'normal',
  symbolSize: 110,
  symbolStrokeWidth: 2,
  offset: 10,
  rowPadding: 4,
  columnPadding: 16,
};

const header = {
  labelColor: colour('ink'),
  labelFontSize: 12,
  labelFontWeight: 600,
  labelAnchor: 'start',
  labelPadding: 6,
  titleColor: colour('faint'),
  titleFontSize: 12,
  titleFontWeight: 'normal',
};

/** The configuration. Labels and titles of axes may have several lines. */
export const config = {
  background: 'transparent',
  font: FONT,
  aria: false,
  lineBreak: '\n',
  padding: { left: 2, right: 8, top: 4, bottom: 2 },
  view: { stroke: null },
  axis,
  axisQuantitative: { domain: false, ticks: false },
  axisBand: { ticks: false, grid: false },
  axisPoint: { ticks: false, grid: false },
  legend,
  header,
  headerRow: { ...header, labelOrient: 'top', labelAngle: 0 },
  title: { color: colour('ink'), subtitleColor: colour('faint'), anchor: 'start', fontSize: 14, fontWeight: 600 },
  range: { category: SERIES.map(colour) },
  mark: { color: colour('series-1'), tooltip: { content: 'encoding' } },
  bar: { cornerRadius: 0 },
  line: { strokeWidth: 2 },
  point: { filled: true, size: 60, opacity: 1 },
  rule: { color: colour('ink'), strokeWidth: 1.5 },
  tick: { color: colour('ink'), thickness: 2 },
  text: { color: colour('ink'), fontSize: 12 },
  errorbar: { ticks: true, color: colour('ink') },
  style: { cell: { stroke: null } },
};
