// What a page needs of Vega. Left out: maps, forces, trees, word clouds, Voronoi cells, regressions, crossfilters.
// `build.mjs` puts this in the place of the package `vega`, also for Vega-Lite.
import { extend } from 'vega-util';
import { transforms } from 'vega-dataflow';
import * as data from 'vega-transforms';
import * as layout from 'vega-view-transforms';
import * as encode from 'vega-encode';

extend(transforms, data, layout, encode);

export { isObject, isString, hasOwnProperty, stringValue, Error, Warn } from 'vega-util';
export { expressionFunction } from 'vega-functions';
export { parse } from 'vega-parser';
export { View } from 'vega-view';
