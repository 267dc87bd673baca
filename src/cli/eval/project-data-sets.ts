import { constants, existsSync } from "node:fs";
import { access, readdir, readFile, stat } from "node:fs/promises";
import { AgentError, isInstance } from "../../errors.ts";
import { toCase } from "../../eval/case.ts";
import type { EvalCase } from "../../eval/case.ts";
import type { AddedRuns, DataSets } from "../../http/console/pages.ts";
import type { RecordedRun } from "../../runtime/recording.ts";
import { Exit } from "../exit.ts";
import {
  casesFile,
  changeCases,
  DIRECTORY,
  isDataSetName,
  keptFile,
  loadEvaluation,
  SHOWN_FILE,
} from "./data-set.ts";

/** The data sets of the project in the working directory, for its console. */
export function projectDataSets(): DataSets {
  return {
    async canAdd() {
      try {
        const folder = existsSync(DIRECTORY) ? DIRECTORY : ".";
        const isProject = folder === DIRECTORY || existsSync("package.json");
        if (!isProject || !(await stat(folder)).isDirectory()) return false;
        await access(folder, constants.W_OK);
        return true;
      } catch {
        return false;
      }
    },
    async names() {
      const files = await readdir(DIRECTORY).catch(() => []);
      return files.flatMap((file) => {
        const name = file.endsWith(ENDING) ? file.slice(0, -ENDING.length) : "";
        return isDataSetName(name) ? [name] : [];
      });
    },
    async add(name, runs) {
      checkName(name);
      try {
        return await add(name, runs);
      } catch (thrown) {
        if (isInstance(thrown, AgentError)) throw thrown;
        const why = thrown instanceof Error ? thrown.message : String(thrown);
        throw new AgentError("unavailable", `${casesFile(name)} was not changed: ${why}`, {
          ...(thrown instanceof Exit && { hint: thrown.hint.join(" ") }),
          cause: thrown,
        });
      }
    },
    async report(name) {
      checkName(name);
      const file = keptFile(name, SHOWN_FILE);
      return existsSync(file) ? readFile(file, "utf8") : '{"reports":[]}';
    },
  };
}

function checkName(name: string): void {
  if (isDataSetName(name)) return;
  throw new AgentError("invalid_request", `${JSON.stringify(name)} is no name of a data set`, {
    hint: "1 to 64 letters, digits, _ or -",
  });
}

const ENDING = ".jsonl";

/** Adds runs as `troupe eval pick` does, but leaves those that are there as they are: someone may have edited them. */
async function add(name: string, runs: readonly RecordedRun[]): Promise<AddedRuns> {
  const { redact = (one: EvalCase) => one } = await loadEvaluation(name);
  const cases = runs
    .map(toCase)
    .filter(({ turns }) => turns.length > 0)
    .map((one) => redact(one));
  let added: readonly EvalCase[] = [];
  const all = await changeCases(name, (known) => {
    const ids = new Set(known.map(({ id }) => id));
    added = cases.filter(({ id }) => !ids.has(id));
    return [...known, ...added];
  });
  return {
    file: casesFile(name),
    added: added.length,
    known: cases.length - added.length,
    empty: runs.length - cases.length,
    cases: all.length,
  };
}
