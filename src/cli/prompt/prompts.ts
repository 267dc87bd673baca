import { createInterface } from "node:readline/promises";
import { EXIT, Exit } from "../exit.ts";
import { toVisible } from "../print/terminal.ts";
import { toLine } from "../print/text.ts";

/** Questions to the person at the terminal, written to standard error. Their texts may come from a server. */
export interface Prompts {
  confirm(question: { readonly message: string; readonly initialValue?: boolean }): Promise<boolean>;
  /** Gives the position of the option that was chosen. */
  select(question: { readonly message: string; readonly options: readonly Option[] }): Promise<number>;
  text(question: TextQuestion): Promise<string>;
}

interface Option {
  readonly label: string;
  readonly hint?: string;
}

interface TextQuestion {
  readonly message: string;
  readonly placeholder?: string;
  /** What is wrong with what was typed. */
  readonly validate: (typed: string) => string | undefined;
}

/** Whether there is a terminal to ask on. */
export function canAsk(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Loads the questions. Ctrl-C throws an Exit with the given message. */
export async function loadPrompts(left: string): Promise<Prompts> {
  // Loaded only here: a command that asks nothing does not pay for it.
  const clack = await import("../vendor/clack.ts");
  const common = { output: process.stderr };
  const toAnswer = <T>(answer: T): Exclude<T, symbol> => {
    if (clack.isCancel(answer)) throw new Exit(EXIT.interrupted, left);
    return answer as Exclude<T, symbol>;
  };
  return {
    async confirm({ message, initialValue }) {
      const initial = initialValue === undefined ? {} : { initialValue };
      return toAnswer(await clack.confirm({ ...common, ...initial, message: toShown(message) }));
    },
    async select({ message, options }) {
      const shown = options.map(({ label, hint }, value) => ({
        value,
        label: toShown(label),
        ...(hint !== undefined && { hint: toShown(hint) }),
      }));
      return toAnswer(await clack.select({ ...common, message: toShown(message), options: shown }));
    },
    async text({ message, placeholder = "", validate }) {
      const typed = await clack.text({
        ...common,
        message: toShown(message),
        placeholder: toShown(placeholder),
        validate(value = "") {
          const problem = validate(value);
          return problem === undefined ? undefined : toShown(problem);
        },
      });
      return toAnswer(typed) ?? "";
    },
  };
}

/** A line that is typed; `undefined` at the end of the input or after Ctrl-C. */
export async function readLine(): Promise<string | undefined> {
  // Opened for each line: between two lines the questions of the agent use the terminal.
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const left = new AbortController();
  lines.once("SIGINT", () => left.abort());
  lines.once("close", () => left.abort());
  try {
    return await lines.question("> ", { signal: left.signal });
  } catch {
    return undefined;
  } finally {
    lines.close();
  }
}

/** A text of a question. The library draws it with sequences of its own, so it is made visible before. */
function toShown(text: string): string {
  return toVisible(toLine(text));
}
