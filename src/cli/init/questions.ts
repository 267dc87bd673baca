import { resolve } from "node:path";
import { EXIT, Exit } from "../exit.ts";
import { isFree } from "./target.ts";
import { TEMPLATES } from "./templates.ts";
import type { TemplateName } from "./templates.ts";

/** What is known before the questions. */
export interface Known {
  readonly directory: string | undefined;
  readonly template?: TemplateName;
  readonly isInstallGiven: boolean;
}

export interface Answers {
  readonly directory?: string;
  readonly template?: TemplateName;
  readonly install?: boolean;
}

/** Asks for the directory, the template and whether to install, each only if the command line does not say it. */
export async function askWhatIsMissing({ directory, template, isInstallGiven }: Known): Promise<Answers> {
  const isDirectoryKnown = directory !== undefined || isFree(resolve("."));
  if (isDirectoryKnown && template !== undefined && isInstallGiven) return {};
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new Exit(
      EXIT.usage,
      "init asks questions, and this is not a terminal",
      "use -y for the defaults, or give all of: a directory, --template, and --install or --no-install",
    );
  }
  // Loaded only here: a command that asks nothing does not pay for it.
  const { confirm, isCancel, select, text } = await import("../vendor/clack.ts");
  const output = process.stderr;
  const toAnswer = <T>(value: T): Exclude<T, symbol> => {
    if (isCancel(value)) throw new Exit(EXIT.interrupted, "nothing was written");
    return value as Exclude<T, symbol>;
  };

  const answers: { -readonly [Key in keyof Answers]: Answers[Key] } = {};
  if (!isDirectoryKnown) {
    const validate = (path = ""): string | undefined =>
      path.trim() === "" || !isFree(resolve(path)) ? "Name a directory that is new or empty." : undefined;
    answers.directory = toAnswer(
      await text({ message: "Where?", placeholder: "my-agents", validate, output }),
    ).trim();
  }
  if (template === undefined) {
    const options = (Object.keys(TEMPLATES) as TemplateName[]).map((value) => ({
      value,
      label: value,
      hint: TEMPLATES[value].description,
    }));
    answers.template = toAnswer(await select({ message: "What shall it be?", options, output }));
  }
  if (!isInstallGiven) answers.install = toAnswer(await confirm({ message: "Run npm install?", output }));
  return answers;
}
