// Erases 1,000 canaries among 100,000 runs, with a kill in the middle, and looks for them everywhere.
// `npm run test:erase -- --runs 100000 --canaries 1000`, and `--log postgres://…` for an empty database.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { databasePlace } from "./database.ts";
import { directoryPlace, erasing, isChosen } from "./erasing.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "100000" },
    canaries: { type: "string", default: "1000" },
    timed: { type: "string", default: "100" },
    log: { type: "string" },
  },
});
const directory = mkdtempSync(join(tmpdir(), "erase-"));
try {
  const database = values.log === undefined ? undefined : databasePlace(values.log);
  const place = database ?? directoryPlace(join(directory, "data"));
  const [runs, canaries, timed] = [values.runs, values.canaries, values.timed].map(Number);
  const report = await erasing({ place, runs: runs ?? 0, canaries: canaries ?? 0, timed: timed ?? 0 });
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  console.log(
    `of ${canaries} canaries among ${runs} runs, ${report.before.length} were found before and ${report.after.length} after`,
  );
  const left = report.after.filter((found) => !isChosen(found));
  for (const found of left.slice(0, 10)) console.log(`  still in ${found}`);
  console.log(`  in ${report.lines} log lines: ${report.inLines.join(", ")}`);
  console.log(
    `an owner with ${timed} runs: gone after ${seconds(report.goneMs)}, overwritten after ${seconds(report.erasedMs)}`,
  );
  console.log(
    `killed when ${report.goneAtKill} of ${canaries} were gone; finished ${seconds(report.finishedMs)} after the next start`,
  );
  if (database) console.log(`VACUUM FULL of all tables: ${seconds(await database.vacuum())}`);
  const isKilledBefore = report.goneAtKill < (canaries ?? 0);
  const isFine = report.before.length > 0 && left.length === 0 && isKilledBefore;
  process.exitCode =
    isFine && report.kept === Math.min(1_000, (runs ?? 0) - Math.floor((runs ?? 0) / 2)) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
