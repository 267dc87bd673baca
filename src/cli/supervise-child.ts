import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { isFailureReport, isServerReport } from "./server-report.ts";
import type { ServerReport, StopMessage } from "./server-report.ts";

/** What became of a server process. */
export interface ServerEnd {
  /** How long it served, in milliseconds; `undefined` when it never got that far. */
  readonly servedMs: number | undefined;
  /** The exit code of one that said that it could not begin; another's says nothing, since any agent may exit. */
  readonly failure: number | undefined;
}

/** A server in a process of its own. */
export interface ServerProcess {
  /** Resolves when the process is gone. */
  readonly ended: Promise<ServerEnd>;
  /** Makes it end now: its streams are cut, what runs goes on after the next start. */
  stop(): void;
  /** Ends it without giving it a say. */
  kill(): void;
}

/** Starts `troupe serve` as a child, which dies with this process. */
export function startServerProcess(
  args: readonly string[],
  onReady: (report: ServerReport) => void,
): ServerProcess {
  // From source or from the build: the entry has the same ending as this file.
  const main = fileURLToPath(new URL(`./main${extname(import.meta.url)}`, import.meta.url));
  const child = fork(main, ["serve", ...args], {
    execArgv: [...process.execArgv, "--disable-warning=ExperimentalWarning"],
  });
  let readyAt: number | undefined;
  let hasFailed = false;
  let killer: NodeJS.Timeout | undefined;

  child.on("message", (message) => {
    hasFailed ||= isFailureReport(message);
    if (!isServerReport(message)) return;
    readyAt = performance.now();
    onReady(message);
  });

  return {
    ended: waitForEnd(child).then((code) => {
      clearTimeout(killer);
      const servedMs = readyAt === undefined ? undefined : performance.now() - readyAt;
      return { servedMs, failure: hasFailed ? code : undefined };
    }),
    stop() {
      if (child.connected) child.send({ type: "stop" } satisfies StopMessage);
      killer ??= setTimeout(() => child.kill("SIGKILL"), child.connected ? STOP_MS : 0);
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

/** How long a server may take to stop. */
const STOP_MS = 3000;

function waitForEnd(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    // Only then everything is read that it said; its exit may be seen before.
    child.once("close", (code) => resolve(code ?? 1));
    child.once("error", () => resolve(1));
  });
}
