/**
 * Makes a function that gives the present time as events carry it. Many events fall into one
 * millisecond, over all runs, and making the text costs more than an event.
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
