/** @module-tag long */
import { describe, expect, test, vi } from "vitest";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { newSchema } from "../../storage/postgres/logs.ts";
import { publishUnderKills } from "./topics.ts";

test(
  "all subscribers of a topic get each publication once and in order, over two kills of the server",
  { timeout: 120_000 },
  async () => {
    expect(await publishUnderKills(60, 12)).toMatchObject({ right: 60, kills: 2 });
  },
);

describe("in a cluster", () => {
  needsPostgres();

  test(
    "all subscribers get each publication once and in order, while one node and then the other is killed",
    { timeout: 240_000 },
    async () => {
      const place = { url: await postgresUrl(), schema: newSchema() };
      vi.stubEnv("TROUPE_TOPICS_POSTGRES", JSON.stringify(place));
      expect(await publishUnderKills(40, 9, 2)).toMatchObject({ right: 40, kills: 2 });
      vi.unstubAllEnvs();
    },
  );
});
