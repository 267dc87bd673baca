import { memoryLog } from "troupe";
import { expect, test } from "vitest";
import { readToActivate } from "./age.ts";
import { lives } from "./lives.ts";

/** `npm run test:life -- --only chart` measures what it costs. */
const MESSAGES = 1_500;

test.each(lives)("an activation reads as much at the end of a life as at its start: $name", async (life) => {
  const [young, old] = await readToActivate(life, memoryLog(), MESSAGES);
  expect(young).toBeGreaterThan(0);
  expect(old).toBeLessThan(1.3 * young);
});
