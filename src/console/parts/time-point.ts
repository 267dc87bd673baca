/** A value of a chart at a moment. */
export interface TimePoint {
  readonly at: number;
  /** `undefined` where nothing is known: the chart has a gap there. */
  readonly value: number | undefined;
}
