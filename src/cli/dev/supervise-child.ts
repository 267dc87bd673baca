import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { isServerReport } from "../serve/server-report.ts";
import type { FailureReport, LoadedReport, ReadyReport, ServerCommand } from "../serve/server-report.ts";

/** How a server process ended. */
export interface ServerEnd {
  /** How long it served, in milliseconds; `undefined` if it did not serve. */
  readonly servedMs: number | undefined;
  /** The exit code of a process that reported that it cannot start. Any agent may exit with any code. */
  readonly failure: number | undefined;
  /** The exit code or the signal, as the end of a sentence about the process. */
  readonly how: string;
}

/** A server in a child process. */
export interface ServerProcess {
  /** Resolves when the agents are loaded, or cannot be loaded; the process then waits for `start`. */
  readonly loaded: Promise<LoadedReport | FailureReport>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<ServerEnd>;
  /** Lets it serve its agents. */
  start(): void;
  /** Ends it now: its streams are closed, open turns continue after the next start. */
  stop(): void;
  /** Ends it at once, without cleanup. */
  kill(): void;
}

/** Starts `troupe serve` as a child, which ends together with this process. */
export function startServerProcess(
  args: readonly string[],
  onReady: (report: ReadyReport) => void,
): ServerProcess {
  // From source or from the build: the entry has the same file extension as this file.
  const main = fileURLToPath(new URL(`../main${extname(import.meta.url)}`, import.meta.url));
  const child = fork(main, ["serve", ...args], {
    execArgv: [...process.execArgv, "--disable-warning=ExperimentalWarning"],
  });
  const loaded = Promise.withResolvers<LoadedReport | FailureReport>();
  let readyAt: number | undefined;
  let hasFailed = false;
  let killer: NodeJS.Timeout | undefined;

  child.on("message", (message) => {
    if (!isServerReport(message)) return;
    if (message.type === "ready") {
      readyAt = performance.now();
      onReady(message);
      return;
    }
    hasFailed ||= message.type === "failed";
    loaded.resolve(message);
  });

  return {
    loaded: loaded.promise,
    ended: waitForEnd(child).then(({ code, how }) => {
      clearTimeout(killer);
      loaded.resolve({ type: "failed", files: [], missing: [] });
      const servedMs = readyAt === undefined ? undefined : performance.now() - readyAt;
      return { servedMs, failure: hasFailed ? code : undefined, how };
    }),
    start: () => send(child, { type: "start" }),
    stop() {
      send(child, { type: "stop" });
      killer ??= setTimeout(() => child.kill("SIGKILL"), child.connected ? STOP_MS : 0);
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

/** Maximum time for a server to stop. */
const STOP_MS = 3000;

function send(child: ChildProcess, command: ServerCommand): void {
  // If the child ends in the meantime, `ended` reports it.
  if (child.connected) child.send(command, () => {});
}

function waitForEnd(child: ChildProcess): Promise<{ readonly code: number; readonly how: string }> {
  return new Promise((resolve) => {
    // "close" comes after the last output, "exit" may come before it.
    child.once("close", (code, signal) => {
      resolve({
        code: code ?? 1,
        how: signal === null ? `exited with code ${code}` : `was ended by ${signal}`,
      });
    });
    child.once("error", ({ message }) => resolve({ code: 1, how: `could not be started: ${message}` }));
  });
}
