import { readFile } from "node:fs/promises";
import { AgentError, isInstance } from "../../errors.ts";
import { casesFromCsv } from "../../eval/csv.ts";
import { EXIT, Exit } from "../exit.ts";
import { stderr } from "../print/terminal.ts";
import { toThrownText } from "../thrown-text.ts";
import { Command } from "../vendor/commander.ts";
import { addCases, casesFile, parseDataSet } from "./data-set.ts";

/** `troupe eval import`: makes cases from a table. */
export function importCommand(): Command {
  return new Command("import")
    .description("Makes a data set from a table: columns input and, if wanted, expected, operation and id.")
    .argument("<name>", "the data set", parseDataSet)
    .argument("<file>", "a CSV file")
    .requiredOption("--agent <name>", "the agent that gets the inputs")
    .addHelpText("after", "\nExample:\n  troupe eval import questions questions.csv --agent desk")
    .action(async (name: string, file: string, { agent }: { readonly agent: string }) => {
      const csv = await readFile(file, "utf8").catch((thrown: unknown) => {
        throw new Exit(EXIT.usage, `${file} cannot be read`, toThrownText(thrown));
      });
      try {
        const cases = casesFromCsv(csv, agent);
        const all = await addCases(name, cases);
        stderr.line(`${cases.length} read; ${casesFile(name)} has ${all} case${all === 1 ? "" : "s"}`);
      } catch (thrown) {
        if (!isInstance(thrown, AgentError)) throw thrown;
        throw new Exit(EXIT.usage, `${file}: ${thrown.message}`);
      }
    });
}
