/**
 * Creates a function that returns the current time as in events. Many events of all runs share a millisecond,
 * and formatting the time costs more than an event, so the text is cached.
 */
export function createTimestamp(now: () => number): () => string {
  let madeAt = Number.NaN;
  let text = "";
  return () => {
    const ms = now();
    if (ms !== madeAt) {
      madeAt = ms;
      text = new Date(ms).toISOString();
    }
    return text;
  };
}
