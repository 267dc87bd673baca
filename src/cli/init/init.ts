import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { basename, relative, resolve, join } from "node:path";
import { Command, Option } from "../vendor/commander.ts";
import { EXIT, Exit } from "../exit.ts";
import { stderr } from "../print/terminal.ts";
import { canAsk, loadPrompts } from "../prompt/prompts.ts";
import { isPackageName, toPackageName, writeProject } from "./project.ts";
import { TEMPLATES } from "./templates.ts";
import type { TemplateName } from "./templates.ts";

/** `troupe init`: writes a project with an agent and a test. */
export function initCommand(): Command {
  return new Command("init")
    .description("Creates a project: one agent, one test, and what runs them.")
    .argument("[directory]", "where; without it the working directory if that is empty, else you are asked")
    .option("--name <name>", "name of the project; by default that of the directory", parseName)
    .addOption(new Option("--template <name>", "what the agent does").choices(Object.keys(TEMPLATES)))
    .option("--install", "run npm install, without a question", true)
    .option("--no-install", "do not run npm install")
    .option("-y, --yes", "ask nothing: template chat, and install", false)
    .addHelpText(
      "after",
      `\nTemplates:\n${Object.entries(TEMPLATES)
        .map(([name, { description }]) => `  ${name.padEnd(12)} ${description}`)
        .join("\n")}\n\nExample: troupe init my-agents --template approval`,
    )
    .action(run);
}

interface Options {
  readonly name?: string;
  readonly template?: TemplateName;
  readonly install: boolean;
  readonly yes: boolean;
}

async function run(directory: string | undefined, options: Options, command: Command): Promise<void> {
  // Checked before the first question, so that no answer is lost to a refusal.
  if (directory !== undefined) checkTarget(resolve(directory));
  const asked = options.yes
    ? {}
    : await askWhatIsMissing({ ...options, directory, isInstallGiven: isGiven(command) });
  const target = resolve(directory ?? asked.directory ?? ".");
  checkTarget(target);

  const template = options.template ?? asked.template ?? "chat";
  const name = options.name ?? toPackageName(basename(target));
  const files = await writeProject(target, { name, template });
  const isRepository = await hasRepository(target);
  if (!isRepository) await runQuietly("git", ["init", "--quiet"], target).catch(() => undefined);

  const shown = relative("", target) || ".";
  stderr.line(`Wrote ${files.length} files to ${shown}: ${files.join(", ")}`);
  const isInstalling = asked.install ?? options.install;
  if (isInstalling) await install(target);
  const steps = [
    ...(shown === "." ? [] : [`cd ${/[^\w./-]/.test(shown) ? `"${shown}"` : shown}`]),
    ...(isInstalling ? [] : ["npm install"]),
    "npm test",
    "npm run dev",
  ];
  stderr.lines(`\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`);
}

/** Whether `--install` or `--no-install` was given, so that the question is not needed. */
function isGiven(command: Command): boolean {
  return command.getOptionValueSource("install") === "cli";
}

function parseName(text: string): string {
  if (isPackageName(text)) return text;
  throw new Exit(
    EXIT.usage,
    `"${text}" cannot be the name of a project`,
    `use lower-case letters, digits, "-", "_" and ".", for example ${toPackageName(text)}`,
  );
}

async function install(cwd: string): Promise<void> {
  stderr.line("Installing …");
  try {
    await runQuietly(NPM, ["install", "--no-audit", "--no-fund", "--loglevel=error"], cwd);
  } catch (cause) {
    throw new Exit(EXIT.unavailable, `npm install failed in ${cwd}`, [
      ...(cause as Error).message.split("\n"),
      "the files are written; run npm install there again",
    ]);
  }
}

const NPM = process.platform === "win32" ? "npm.cmd" : "npm";

async function hasRepository(cwd: string): Promise<boolean> {
  if (existsSync(resolve(cwd, ".git"))) return true;
  return runQuietly("git", ["rev-parse", "--is-inside-work-tree"], cwd).then(
    () => true,
    () => false,
  );
}

/** Runs a program; rejects with its output when it fails. */
function runQuietly(program: string, args: readonly string[], cwd: string): Promise<void> {
  return new Promise((fulfil, reject) => {
    const child = spawn(program, args, {
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-OUTPUT_LIMIT);
      });
    }
    child.once("error", reject);
    child.once("close", (code) => {
      if (code === 0) fulfil();
      else reject(new Error(output.trim() || `${program} ended with ${code}`));
    });
  });
}

/** How much of a program's output an error shows, in characters. */
const OUTPUT_LIMIT = 2_000;

/** What is known before the questions. */
interface Known {
  readonly directory: string | undefined;
  readonly template?: TemplateName;
  readonly isInstallGiven: boolean;
}

interface Answers {
  readonly directory?: string;
  readonly template?: TemplateName;
  readonly install?: boolean;
}

/** Asks for the directory, the template and whether to install, each only if the command line does not say it. */
async function askWhatIsMissing({ directory, template, isInstallGiven }: Known): Promise<Answers> {
  const isDirectoryKnown = directory !== undefined || isFree(resolve("."));
  if (isDirectoryKnown && template !== undefined && isInstallGiven) return {};
  if (!canAsk()) {
    throw new Exit(
      EXIT.usage,
      "init asks questions, and this is not a terminal",
      "use -y for the defaults, or give all of: a directory, --template, and --install or --no-install",
    );
  }
  const { confirm, select, text } = await loadPrompts("nothing was written");
  const answers: { -readonly [Key in keyof Answers]: Answers[Key] } = {};
  if (!isDirectoryKnown) {
    const validate = (path: string): string | undefined =>
      path.trim() === "" || !isFree(resolve(path)) ? "Name a directory that is new or empty." : undefined;
    answers.directory = (await text({ message: "Where?", placeholder: "my-agents", validate })).trim();
  }
  if (template === undefined) {
    const names = Object.keys(TEMPLATES) as TemplateName[];
    const options = names.map((name) => ({ label: name, hint: TEMPLATES[name].description }));
    const chosen = names[await select({ message: "What shall it be?", options })];
    if (chosen !== undefined) answers.template = chosen;
  }
  if (!isInstallGiven) answers.install = await confirm({ message: "Run npm install?" });
  return answers;
}

/** Throws if a project cannot be written into a directory without changing existing files. */
function checkTarget(directory: string): void {
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory()) {
    throw new Exit(EXIT.usage, `${directory} is a file`, ANOTHER);
  }
  const found = readdirSync(directory).find((name) => !isLeftByInstall(directory, name));
  if (found === undefined) return;
  throw new Exit(EXIT.usage, `${directory} is not empty: it has ${found}`, ANOTHER);
}

/** Whether a directory can get a project. */
function isFree(directory: string): boolean {
  try {
    checkTarget(directory);
    return true;
  } catch {
    return false;
  }
}

const ANOTHER = "name a new directory: troupe init my-agents";

/** Whether a file is what `git init` or `npm install troupe` leaves in an empty directory. */
function isLeftByInstall(directory: string, name: string): boolean {
  if (name === "package.json") return hasOnlyDependencies(join(directory, name));
  return [".git", "node_modules", "package-lock.json"].includes(name);
}

function hasOnlyDependencies(path: string): boolean {
  try {
    const keys = Object.keys(JSON.parse(readFileSync(path, "utf8")) as object);
    return keys.every((key) => key === "dependencies");
  } catch {
    return false;
  }
}
