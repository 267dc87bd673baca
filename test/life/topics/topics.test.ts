/** @module-tag long */
import { expect, test } from "vitest";
import { publishUnderKills } from "./topics.ts";

test(
  "all subscribers of a topic get each publication once and in order, over two kills of the server",
  { timeout: 120_000 },
  async () => {
    expect(await publishUnderKills(60, 12)).toMatchObject({ right: 60, kills: 2 });
  },
);
