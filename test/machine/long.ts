import { TestRunner } from "vitest";

/** Whether this run has the tests with the tag `long` too, as each run of Vitest but `npm test` has. */
export const runsLong: boolean = TestRunner.matchesTags(["long"]);

/** All cases in a run that has the long tests, and the first ones otherwise. */
export function shortened<T>(cases: readonly T[], count: number): T[] {
  return cases.slice(0, runsLong ? cases.length : count);
}

/** All cases in a run that has the long tests, and otherwise the first one of as many as are named, of the next ones, and so on. */
export function sampled<T>(cases: readonly T[], every: number): T[] {
  return cases.filter((_, index) => runsLong || index % every === 0);
}
