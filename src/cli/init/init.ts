import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, relative, resolve } from "node:path";
import { Command, Option } from "../vendor/commander.ts";
import { EXIT, Exit } from "../exit.ts";
import { askWhatIsMissing } from "./questions.ts";
import { isPackageName, toPackageName, writeProject } from "./project.ts";
import { TEMPLATES } from "./templates.ts";
import type { TemplateName } from "./templates.ts";
import { checkTarget } from "./target.ts";

/** `troupe init`: writes a project with an agent and a test. */
export function initCommand(): Command {
  return new Command("init")
    .description("Creates a project: one agent, one test, and what runs them.")
    .argument("[directory]", "where; without it the working directory if that is empty, else you are asked")
    .option("--name <name>", "name of the project; by default that of the directory", parseName)
    .addOption(new Option("--template <name>", "what the agent does").choices(Object.keys(TEMPLATES)))
    .option("--no-install", "do not run npm install")
    .option("-y, --yes", "ask nothing: template chat, and install", false)
    .addHelpText(
      "after",
      `\nTemplates:\n${Object.entries(TEMPLATES)
        .map(([name, { description }]) => `  ${name.padEnd(10)} ${description}`)
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
  console.error(`Wrote ${files.length} files to ${shown}: ${files.join(", ")}`);
  const isInstalling = asked.install ?? options.install;
  if (isInstalling) await install(target);
  const steps = [
    ...(shown === "." ? [] : [`cd ${/[^\w./-]/.test(shown) ? `"${shown}"` : shown}`]),
    ...(isInstalling ? [] : ["npm install"]),
    "npm test",
    "npm run dev",
  ];
  console.error(`\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`);
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
  console.error("Installing …");
  try {
    await runQuietly(NPM, ["install", "--no-audit", "--no-fund", "--loglevel=error"], cwd);
  } catch (cause) {
    throw new Exit(
      EXIT.unavailable,
      `npm install failed in ${cwd}: ${(cause as Error).message}`,
      "the files are written; run npm install there again",
    );
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
