import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { isServerReport } from "./server-report.ts";
import type { ServerReport, StopMessage } from "./server-report.ts";

/** What became of a server process. */
export interface ServerEnd {
  /** How long it served, in milliseconds; `undefined` when it never got that far. */
  readonly servedMs: number | undefined;
  /** Its exit code, `null` when a signal ended it. */
  readonly code: number | null;
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
  let killer: NodeJS.Timeout | undefined;

  child.on("message", (message) => {
    if (!isServerReport(message)) return;
    readyAt = performance.now();
    onReady(message);
  });

  return {
    ended: waitForEnd(child).then((code) => {
      clearTimeout(killer);
      return { code, servedMs: readyAt === undefined ? undefined : performance.now() - readyAt };
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

function waitForEnd(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", () => resolve(1));
  });
}
