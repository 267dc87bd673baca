import { resolve } from "node:path";
import { Command } from "commander";
import { toBanner } from "./banner.ts";
import { EXIT } from "./exit.ts";
import { toUnreadable } from "./load-agents.ts";
import { onOrphaned } from "./orphaned.ts";
import { readVersion } from "./package-version.ts";
import { addServerOptions, toArguments } from "./server-options.ts";
import type { ServerOptions } from "./server-options.ts";
import { startServerProcess } from "./supervise-child.ts";
import type { ServerEnd, ServerProcess } from "./supervise-child.ts";
import { watchDirectory } from "./watch.ts";

/** `troupe dev`: serves the agents of a directory, and starts again whenever a file in it changes. */
export function devCommand(): Command {
  return addServerOptions(new Command("dev"))
    .description(
      "Serves the agents of a directory and starts again when a file in it changes. Runs are kept.",
    )
    .action(run);
}

async function run(options: ServerOptions): Promise<void> {
  let server: ServerProcess | undefined;
  let changed = nextChange();
  let leaving = false;
  let greeted = false;
  let { port } = options;
  const isWorthARestart = createPatience();

  const stopWatching = watchAgents(options.agents, (file) => {
    console.log(`${file} changed`);
    changed.resolve();
    server?.stop();
  });
  const leave = (): void => {
    leaving = true;
    changed.resolve();
    server?.stop();
  };
  const stopListening = onSignal(() => {
    if (leaving) server?.kill();
    leave();
  });
  const stopLooking = onOrphaned(leave);

  try {
    while (!leaving) {
      changed = nextChange();
      const startedAt = performance.now();
      server = startServerProcess(toArguments({ ...options, port }), (report) => {
        // A free port that was found once is kept.
        port = Number(new URL(report.url).port);
        if (greeted) console.log(`ready again after ${Math.round(performance.now() - startedAt)} ms`);
        else console.log(toBanner(report, options, readVersion()));
        greeted = true;
      });
      const end = await server.ended;
      if (leaving || changed.happened()) continue;
      if (isFinal(end)) {
        process.exitCode = end.failure;
        return;
      }
      if (isWorthARestart(end)) {
        console.log("the server died; starting it again");
        continue;
      }
      console.log(`waiting for a change in ${options.agents}`);
      await changed.promise;
    }
  } finally {
    stopWatching();
    stopListening();
    stopLooking();
  }
}

function watchAgents(directory: string, changed: (file: string) => void): () => void {
  try {
    return watchDirectory(resolve(directory), changed);
  } catch (cause) {
    throw toUnreadable(directory, cause);
  }
}

/** No change of an agent file can help against these. */
function isFinal({ failure }: ServerEnd): boolean {
  return failure !== undefined && FINAL.has(failure);
}

const FINAL: ReadonlySet<number> = new Set([EXIT.usage, EXIT.port, EXIT.damaged, EXIT.inUse, EXIT.refused]);

/**
 * Counts how often a server died early. One that cannot begin will not after another start either, and one
 * that keeps dying needs another agent. Between the two is a turn that kills the server whenever it is gone on
 * with, before the server is ready: a few starts later that turn is ended.
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
const DEATHS_LIMIT = 5;

/** A promise for the next change of a file, and whether it has happened. */
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
