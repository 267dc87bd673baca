import type { TestTagDefinition } from "vitest";

/** The tags of tests, which every configuration of Vitest needs. */
export const tags: TestTagDefinition[] = [
  {
    name: "long",
    description: "repeats a promise with other input, or needs many processes for it; not in `npm test`",
  },
];
