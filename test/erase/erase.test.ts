/** @module-tag long */
import { expect, test } from "vitest";
import { needsPostgres } from "../machine/postgres.ts";
import { temporaryDirectory } from "../storage/directories.ts";
import { newDatabase } from "../storage/postgres/databases.ts";
import { databasePlace } from "./database.ts";
import { directoryPlace, erasing } from "./erasing.ts";
import type { Erasing } from "./erasing.ts";

/** `npm run test:erase` erases 1,000 canaries among 100,000 runs. */
const SMALL = { runs: 100, canaries: 20, timed: 5 };

test("what `troupe erase` removes is in no file and no log line, also if the server is killed in the middle", async () => {
  const erased = await erasing({ place: directoryPlace(temporaryDirectory()), ...SMALL });
  expect(toFound(erased)).toEqual(FOUND);
});

needsPostgres();

test(
  "nor is it in a table of PostgreSQL, whose server is killed when a part is gone",
  { tags: "long" },
  async () => {
    // More than are removed together, so that some are gone while the oldest one is held.
    const canaries = 80;
    const erased = await erasing({ place: databasePlace(await newDatabase()), ...SMALL, canaries });
    expect(erased.goneAtKill).toBeGreaterThan(0);
    expect(erased.goneAtKill).toBeLessThan(canaries);
    // There secrets are encrypted.
    expect(toFound(erased)).toEqual({ ...FOUND, unseen: [...FOUND.unseen, "secret"].toSorted() });
  },
);

const FOUND = {
  // What a server does not keep, and the receivers, which are kept in a form that only it can read.
  unseen: ["a2a-message", "open-link", "receiver-token", "receiver-url", "ui-message"],
  // Ids of requests stay, so that they are not used again.
  after: ["ag-ui-run", "publication-id", "request-id"],
  // Lines name these ids, and say what agents throw.
  inLines: ["ag-ui-run", "dead-letter", "error", "request-id"],
  kept: 50,
};

function toFound({ unseen, after, inLines, kept }: Erasing): typeof FOUND {
  const placesOf = (texts: readonly string[]): string[] =>
    texts.map((text) => text.replace(/.*-(?:in|as)-/, "")).toSorted();
  return { unseen: placesOf(unseen), after: placesOf(after), inLines: placesOf(inLines), kept };
}
