import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, onTestFinished } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** A running `troupe` command. */
export interface RunningCommand {
  readonly pid: number;
  /** All output of it and its children so far. */
  output(): string;
  /**
   * Resolves with the first match in the output after a position; rejects when the command ends without one.
   */
  match(pattern: RegExp, from?: number): Promise<RegExpExecArray>;
  kill(signal?: NodeJS.Signals): void;
  /** Writes to its input, which must be a pipe. Resolves when the text is written. */
  type(text: string): Promise<void>;
  /**
   * Resolves with the exit code, or the signal that ended it, when the output is complete: it has ended, and so have its
   * children.
   */
  readonly exited: Promise<number | NodeJS.Signals>;
}

/** The built command line. */
export const main: string = join(root, "dist/cli/main.js");

/** Keeps what is done at the end of a test, or after the last test of a file. */
export type AtEnd = (end: () => Promise<void>) => void;

/** For what the tests of a file share; the newest end is the first. Called while the file is loaded. */
export function afterLastTest(): AtEnd {
  const ends: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return (end) => void ends.push(end);
}

/** Starts the built command line in a directory; it is ended after the test. */
export function startCommand(args: readonly string[], options: CommandOptions): RunningCommand {
  return startProgram(process.execPath, [main, ...args], options);
}

/** Starts a program in a directory; it is ended after the test, with its process group if it has one. */
export function startProgram(
  program: string,
  args: readonly string[],
  { cwd, env = {}, hasGroup = false, input = "ignore", atEnd = onTestFinished }: ProgramOptions,
): RunningCommand {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: [input, "pipe", "pipe"],
    detached: hasGroup,
  });
  const waiting = new Set<() => void>();
  let output = "";
  let closed = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      for (const check of waiting) check();
    });
  }
  const exited = new Promise<number | NodeJS.Signals>((fulfil) => {
    child.once("close", (code, signal) => {
      closed = true;
      for (const check of waiting) check();
      fulfil(code ?? signal ?? "SIGKILL");
    });
  });
  atEnd(async () => {
    if (hasGroup && !closed) process.kill(-(child.pid ?? 0), "SIGKILL");
    child.kill("SIGKILL");
    await exited;
  });

  return {
    pid: child.pid ?? 0,
    output: () => output,
    match(pattern, from = 0) {
      return new Promise((fulfil, reject) => {
        const check = (): void => {
          const found = pattern.exec(output.slice(from));
          if (found === null && !closed) return;
          waiting.delete(check);
          if (found === null) reject(new Error(`the command ended without ${pattern}, after:\n${output}`));
          else fulfil(found);
        };
        waiting.add(check);
        check();
      });
    },
    kill: (signal = "SIGTERM") => void child.kill(signal),
    type(text) {
      const { promise, resolve: fulfil } = Promise.withResolvers<void>();
      child.stdin?.write(text, () => fulfil());
      return promise;
    },
    exited,
  };
}

/** Whether this machine has what gives a command a terminal. */
export const hasTerminal: boolean = spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;

/** Starts the built command line on a terminal of 80 columns. */
export function startOnTerminal(args: readonly string[], options: CommandOptions): RunningCommand {
  const command = ["stty cols 80 rows 24;", process.execPath, main, ...args].join(" ");
  return startProgram("script", ["-qec", command, "/dev/null"], { ...options, input: "pipe" });
}

/** The directory and additional environment of a command. */
export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** When it is ended; by default after the test. */
  readonly atEnd?: AtEnd;
}

interface ProgramOptions extends CommandOptions {
  /** Whether it leads a process group, which is ended with it. */
  readonly hasGroup?: boolean;
  readonly input?: "ignore" | "pipe";
}

/** Creates a project directory whose files can import `troupe`; it is removed after the test. */
export async function createProject(
  files: Readonly<Record<string, string>>,
  atEnd: AtEnd = onTestFinished,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-cli-"));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "node_modules"));
  await mkdir(join(folder, "agents"));
  await symlink(root, join(folder, "node_modules/troupe"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** The source of an agent file whose chat answers one word. */
export function agentSaying(word: string, name = "speaker"): string {
  return `import { defineAgent } from "troupe";
export const ${name} = defineAgent({
  name: "${name}",
  purpose: "Says ${word}.",
  async chat(_input, turn) { await turn.text("${word}"); },
});
`;
}

/** Sends a request and resolves with the event that ends its turn. */
export async function chat(url: string, agent: string, fields: object = {}): Promise<Completed> {
  const response = await fetch(`${url}/${agent}/process?wait=completed`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "ChatRequest", input: "?", ...fields }),
  });
  return (await response.json()) as Completed;
}

/** The parts of an answer that the tests check. */
export interface Completed {
  readonly id: number;
  readonly run_id: string;
  readonly request_id: string;
  readonly type: string;
  readonly result?: string | null;
}
