import { memoryLog } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { describe, expect, test } from "vitest";
import { readToActivate, weigh } from "./age.ts";
import { lives } from "./lives.ts";
import { runsLong, shortened } from "../machine/long.ts";

/** `npm run test:life -- --only chart` and `--only disk` measure more of a longer life. */
const MESSAGES = runsLong ? 1_500 : 500;

describe.each(shortened(lives, 1))("a long life: $name", (life) => {
  test("an activation reads as much at its end as at its start", async () => {
    const [young, old] = await readToActivate(life, memoryLog(), MESSAGES);
    expect(young).toBeGreaterThan(0);
    expect(old).toBeLessThan(1.3 * young);
  });

  test("with retention, the run takes as much at its end as at its start", async () => {
    const environment = manualEnvironment();
    const options = { log: memoryLog(), environment, retainMs: 60_000 };
    const pass = (): Promise<void> => environment.advance(60_000);
    const { young, old } = await weigh(life, options, MESSAGES, pass);
    expect(young).toBeGreaterThan(0);
    expect(old).toBeLessThan(1.3 * young);
  });
});
