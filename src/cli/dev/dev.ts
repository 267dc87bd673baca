import { spawn } from "node:child_process";
import { relative, resolve } from "node:path";
import { Command } from "../vendor/commander.ts";
import { printBanner } from "../serve/banner.ts";
import { EXIT, Exit } from "../exit.ts";
import { isInstance } from "../../errors.ts";
import { ENV_FILE, readEnvFile } from "./env-file.ts";
import { toNoAgent, toUnreadable } from "../agent-files.ts";
import { createLog } from "../print/log.ts";
import type { Facts } from "../print/log.ts";
import { stdout } from "../print/terminal.ts";
import { addServerOptions } from "../serve/server-options.ts";
import type { ServerOptions } from "../serve/server-options.ts";
import { startServerProcess } from "./supervise-child.ts";
import type { ServerEnd, ServerProcess } from "./supervise-child.ts";
import { findPackageFolders, watchDirectory, watchFiles, watchPackages } from "./watch.ts";

interface DevOptions extends Omit<ServerOptions, "console"> {
  /** Whether to open the console in a browser. */
  readonly open: boolean;
}

let prepare = async (): Promise<void> => {};

/** Sets what is done beside the first load of the agents, and before they are served: `npm start` builds the console. */
export function prepareWith(work: () => Promise<void>): void {
  prepare = work;
}

/** `troupe dev`: serves the agents of a directory, and serves them again after each change of their files. */
export function devCommand(): Command {
  return addServerOptions(new Command("dev"))
    .description(
      "Serves the agents of a directory and restarts when they, a file that they import, the installed packages or .env change. Runs are kept.",
    )
    .option("--open", "open the console in a browser", false)
    .addHelpText("after", "\nExamples:\n  troupe dev --open\n  troupe dev --agents src/agents --port 4200")
    .action(run);
}

async function run({ open, ...given }: DevOptions, command: Command): Promise<void> {
  const options = { ...given, console: true };
  let serving: ServerProcess | undefined;
  let loading: ServerProcess | undefined;
  let changed = nextChange();
  let leaving = false;
  let place: string | undefined;
  let port: number | undefined;
  let prepared: Promise<void> | undefined;
  let withoutAgent: readonly string[] = [];
  /** The files that the served agents do without. */
  let broken: readonly string[] = [];
  const log = createLog(options.logFormat, options.logLevel);
  const say = (message: string, facts?: Facts): void =>
    options.logFormat === "text" ? stdout.line(message) : log.info(message, facts);
  const isWorthARestart = createPatience();

  const nameWithoutAgent = (files: readonly string[]): void => {
    for (const file of files) if (!withoutAgent.includes(file)) say(toNoAgent(file));
    withoutAgent = files;
  };
  const notice = (file: string): void => {
    say(`${file} changed`);
    changed.resolve();
  };
  const stopWatching = watchAgents(options.agents, options.data, notice);
  const stopWatchingEnv = watchFiles([resolve(ENV_FILE)], () => notice(ENV_FILE));
  const packages = watchPackages(
    [...new Set(["", options.agents].flatMap((folder) => findPackageFolders(resolve(folder))))],
    (directory) => notice(relative("", directory)),
  );
  let stopWatchingImports = (): void => {};
  const leave = (): void => {
    leaving = true;
    changed.resolve();
    loading?.stop();
    serving?.stop();
  };
  const stopListening = onSignal(() => {
    if (leaving) for (const server of [loading, serving]) server?.kill();
    leave();
  });
  const stopLooking = onOrphaned(leave);

  try {
    while (!leaving) {
      changed = nextChange();
      const startedAt = performance.now();
      const isEdited = serving !== undefined;
      readEnvAgain(say);
      // The new process loads the changed files while the old one serves, and takes over only if they load.
      loading = startServerProcess(toArguments(command, port), (report) => {
        const { url, data, open: openRequests } = report;
        // A free port that was found once is kept.
        if (options.port === 0) port = Number(new URL(url).port);
        const before = place;
        place = `at ${url}, data ${data}`;
        if (before === undefined) {
          printBanner(report, options, log);
          if (open) openBrowser(url, () => say(`no browser could be opened for ${url}`));
        } else {
          const ms = Math.round(performance.now() - startedAt);
          say(`ready again after ${ms} ms${before === place ? "" : ` ${place}`}`);
        }
        if (isEdited && openRequests > 0) say(toNotice(openRequests));
      });
      prepared ??= prepare();
      // A file may never come to its end, so a change ends the load.
      const report = await Promise.race([loading.loaded, changed.promise]);
      if (report === undefined) {
        loading.stop();
        await loading.ended;
        continue;
      }
      const { type, files } = report;
      packages.expect(report.missing);
      stopWatchingImports();
      stopWatchingImports = watchFiles(outside(options.agents, files), (file) => notice(relative("", file)));
      if (leaving || changed.happened()) {
        loading.stop();
        await loading.ended;
        continue;
      }
      // A file that this change has broken is not left out: that would take its agent from open turns.
      if (
        type === "loaded" &&
        serving !== undefined &&
        report.broken.some((file) => !broken.includes(file))
      ) {
        loading.stop();
        await loading.ended;
        say(UNCHANGED);
      } else if (type === "loaded") {
        nameWithoutAgent(report.withoutAgent);
        broken = report.broken;
        if (broken.length > 0) say(`the agents of the other files are served, without ${broken.join(", ")}`);
        serving?.stop();
        await serving?.ended;
        serving = loading;
        // oxlint-disable-next-line no-await-in-loop -- of the first server
        await prepared;
        serving.start();
      } else {
        const end = await loading.ended;
        if (place === undefined && isFinal(end)) {
          process.exitCode = end.failure;
          return;
        }
        if (end.failure === undefined) say(`the process that loaded the agents ${end.how}`);
        say(serving === undefined ? "waiting for a change of the agents" : UNCHANGED);
      }
      const end = await Promise.race([changed.promise, ...(serving === undefined ? [] : [serving.ended])]);
      if (leaving || changed.happened() || end === undefined) continue;
      serving = undefined;
      if (place === undefined && isFinal(end)) {
        process.exitCode = end.failure;
        return;
      }
      if (isWorthARestart(end)) {
        say(`the server ${end.how}; restarting it`);
        continue;
      }
      say(`the server ${end.how}; waiting for a change of the agents`);
      await changed.promise;
    }
  } finally {
    stopWatching();
    stopWatchingEnv();
    stopWatchingImports();
    packages.stop();
    stopListening();
    stopLooking();
    await Promise.all([loading?.ended, serving?.ended]);
  }
}

const UNCHANGED = "still serving the agents as they were before this change";

function watchAgents(directory: string, data: string, changed: (file: string) => void): () => void {
  try {
    return watchDirectory(resolve(directory), changed, resolve(data));
  } catch (cause) {
    throw toUnreadable(directory, cause);
  }
}

/**
 * The arguments of the server process: those of this command. What they do not give, the process reads from the
 * environment as it is then.
 */
function toArguments(command: Command, port: number | undefined): readonly string[] {
  const [, ...given] = command.parent?.args ?? [];
  const words = given.filter((word) => word !== "--open");
  return [...words, "--console", ...(port === undefined ? [] : [`--port=${port}`])];
}

/** Reads `.env` for the next server process; if that fails, its variables stay as they were. */
function readEnvAgain(say: (message: string) => void): void {
  try {
    readEnvFile();
  } catch (thrown) {
    if (!isInstance(thrown, Exit)) throw thrown;
    say(`${thrown.message}; its variables stay as they were`);
  }
}

/** The files that are not below a directory, which is watched as a whole. */
function outside(directory: string, files: readonly string[]): string[] {
  return files.filter((file) => relative(resolve(directory), file).startsWith(".."));
}

/** What a change of the code means for open requests. */
function toNotice(open: number): string {
  const requests = open === 1 ? "1 request is open and continues" : `${open} requests are open and continue`;
  return `${requests} with the changed code, or with the code that began it where that does not fit`;
}

/** Exit codes of failures of the first start that no change of an agent file can repair. */
function isFinal({ failure }: ServerEnd): boolean {
  return failure !== undefined && FINAL.has(failure);
}

const FINAL: ReadonlySet<number> = new Set([
  EXIT.usage,
  EXIT.unavailable,
  EXIT.data,
  EXIT.damaged,
  EXIT.inUse,
  EXIT.refused,
]);

/**
 * Counts early deaths of the server in a row. A server that cannot start is not started again, and one that
 * keeps dying needs a change. A turn that kills the server each time it continues is ended after five deaths, and
 * three more for each other turn like it.
 */
function createPatience(): (end: ServerEnd) => boolean {
  let deaths = 0;
  return ({ failure, servedMs }) => {
    if (failure !== undefined) return false;
    deaths = (servedMs ?? 0) < SOON_MS ? deaths + 1 : 0;
    return deaths <= DEATHS_LIMIT;
  };
}

const SOON_MS = 2_000;
const DEATHS_LIMIT = 20;

/** A promise for the next change of a file, and whether it has come. */
interface Change {
  readonly promise: Promise<void>;
  resolve(): void;
  happened(): boolean;
}

function nextChange(): Change {
  const { promise, resolve: fulfil } = Promise.withResolvers<void>();
  let happened = false;
  return {
    promise,
    resolve() {
      happened = true;
      fulfil();
    },
    happened: () => happened,
  };
}

function onSignal(react: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, react);
  return () => {
    for (const signal of signals) process.off(signal, react);
  };
}

/** Opens an address in the browser of the person at this machine. Calls `failed` if there is none. */
function openBrowser(url: string, failed: () => void): void {
  const [program = "", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.once("error", failed);
  child.once("exit", (code) => {
    if (code !== 0) failed();
  });
  child.unref();
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/**
 * Calls `react` once when the npm script that started this process is gone. Returns a function that stops
 * watching. npm forwards a signal to the script's shell, which ends and usually does not forward it. With
 * another parent nothing happens, because it may leave the process running on purpose.
 */
function onOrphaned(react: () => void): () => void {
  if (process.env["npm_lifecycle_event"] === undefined) return () => {};
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent && isThere(parent)) return;
    clearInterval(timer);
    react();
  }, LOOK_MS);
  return () => clearInterval(timer);
}

const LOOK_MS = 250;

/** Windows still reports the pid of a parent that is gone. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
