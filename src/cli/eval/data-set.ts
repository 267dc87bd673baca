import { existsSync } from "node:fs";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { AgentError, isInstance } from "../../errors.ts";
import { formatCases, parseCases } from "../../eval/case.ts";
import type { EvalCase } from "../../eval/case.ts";
import { isEvaluation } from "../../eval/definition.ts";
import type { Evaluation } from "../../eval/definition.ts";
import { KeyedMutex } from "../../shared/keyed-mutex.ts";
import { EXIT, Exit } from "../exit.ts";
import { toThrownText } from "../thrown-text.ts";
import { InvalidArgumentError } from "../vendor/commander.ts";

/** Where the data sets and their reports are. */
export const DIRECTORY = "evals";

/** Reads the name of a data set, which is a part of file names. */
export function parseDataSet(text: string): string {
  if (!isDataSetName(text)) throw new InvalidArgumentError("It must be 1 to 64 letters, digits, _ or -.");
  return text;
}

/** Whether a text is the name of a data set: nothing in it leads out of their folder. */
export function isDataSetName(text: string): boolean {
  return /^[a-z\d][\w-]{0,63}$/i.test(text);
}

/** The file of a data set. */
export function casesFile(name: string): string {
  return join(DIRECTORY, `${name}.jsonl`);
}

/** A file with what is kept of a data set: reports, answers of models. */
export function keptFile(name: string, file: string): string {
  return join(DIRECTORY, ".kept", name, file);
}

/** What the page of the newest evaluation shows. */
export const SHOWN_FILE = "newest.page.json";

/** Reads a data set; `undefined` if there is none. */
export async function readCases(name: string): Promise<readonly EvalCase[] | undefined> {
  const file = casesFile(name);
  if (!existsSync(file)) return undefined;
  try {
    return parseCases(await readFile(file, "utf8"));
  } catch (thrown) {
    if (!isInstance(thrown, AgentError)) throw thrown;
    throw new Exit(EXIT.refused, `${file}: ${thrown.message}`, thrown.details.hint);
  }
}

/** Adds cases to a data set. Those of known ids take the place of the earlier ones. Returns the number of all. */
export async function addCases(name: string, added: readonly EvalCase[]): Promise<number> {
  return (await changeCases(name, (known) => [...known, ...added])).length;
}

/** Replaces the cases of a data set; of two with one id the later one stays. Returns all of them. */
export function changeCases(
  name: string,
  change: (known: readonly EvalCase[]) => readonly EvalCase[],
): Promise<readonly EvalCase[]> {
  return WRITING.run(name, async () => {
    const changed = change((await readCases(name)) ?? []);
    const all = [...new Map(changed.map((one) => [one.id, one])).values()];
    await writeWhole(casesFile(name), formatCases(all));
    return all;
  });
}

/** A server changes a data set for several people. */
const WRITING = new KeyedMutex();

/** Writes a file so that a reader sees the old content or the new one. */
export async function writeWhole(file: string, content: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, content);
  await rename(temporary, file);
}

/** Imports the file that says how a data set is judged; without one everything has its default. */
export async function loadEvaluation(name: string): Promise<Evaluation> {
  const file = join(DIRECTORY, `${name}.ts`);
  if (!existsSync(file)) return {};
  let exported: { readonly default?: unknown };
  try {
    const { mtimeMs } = await stat(file);
    // A server reads it anew when it has changed.
    exported = (await import(`${pathToFileURL(resolve(file)).href}?${mtimeMs}`)) as {
      readonly default?: unknown;
    };
  } catch (thrown) {
    throw new Exit(EXIT.refused, `${file} does not load`, toThrownText(thrown));
  }
  if (isEvaluation(exported.default)) return exported.default;
  throw new Exit(
    EXIT.refused,
    `${file} exports no evaluation`,
    'export default defineEvaluation({ … }), from "troupe/eval"',
  );
}
