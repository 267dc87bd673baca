import { existsSync } from "node:fs";
import { createRequire, registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Runtime } from "../../runtime/api.ts";
import { drainOnSignals } from "../../node/signals.ts";
import { printBanner, toDataPlace } from "./banner.ts";
import { toNoAgent } from "../agent-files.ts";
import { loadAgents } from "../load-agents.ts";
import type { LoadedAgents } from "../load-agents.ts";
import { printFailure } from "../print/failure.ts";
import { createLog } from "../print/log.ts";
import type { ServerOptions } from "./server-options.ts";
import { loadServerConfig } from "./server-config.ts";
import { isServerCommand } from "./server-report.ts";
import type { ServerReport } from "./server-report.ts";
import { startServer } from "./start-server.ts";

/** Serves the agents of a directory until the process gets a signal. */
export async function serveAlone(options: ServerOptions): Promise<void> {
  const log = createLog(options.logFormat, options.logLevel);
  const loaded = await loadAgents(options.agents);
  for (const file of loaded.withoutAgent) log.info(toNoAgent(file));
  const { runtime, server, finish } = await startServer(options, loaded, log);
  drainOnSignals(server, runtime, { drainMs: options.drainSeconds * 1_000, finish });
  const { agents: names, defaultAgent } = runtime;
  printBanner({ ...server, data: toDataPlace(options), agents: names, defaultAgent }, options, log);
}

/**
 * Serves for `troupe dev`, which prints and decides. This process loads the agents, waits for the command to
 * start, and ends when the parent asks for it or is gone.
 */
export async function serveForParent(options: ServerOptions): Promise<void> {
  let stop = async (): Promise<unknown> => undefined;
  const leave = (): void => void stop().finally(() => process.exit(0));
  const started = new Promise<void>((resolve) => {
    process.on("message", (message) => {
      if (!isServerCommand(message)) return;
      if (message.type === "start") resolve();
      else leave();
    });
  });
  process.on("disconnect", leave);
  // A signal to the whole group reaches the parent too, which then sends a command. Any other SIGTERM ends the
  // process as a crash, because a turn may have sent it: that counts as a death while the turn ran.
  process.on("SIGTERM", () => setTimeout(() => process.exit(SIGTERM_CODE), COMMAND_MS));
  // A terminal sends SIGINT to both processes.
  process.on("SIGINT", () => {});

  const loaded = await load(options);
  await started;
  const { runtime, server, finish } = await startServer(
    options,
    loaded,
    createLog(options.logFormat, options.logLevel),
  ).catch(async (thrown: unknown) => {
    await tell({ type: "failed", files: [], missing: [] });
    throw thrown;
  });
  // Open turns continue after the next start, which comes soon.
  stop = () => Promise.allSettled([server.close({ graceMs: 0 }), runtime.close({ drainMs: 0 })]).then(finish);
  const { agents: names, defaultAgent } = runtime;
  const open = await countOpenRuns(runtime);
  await tell({
    type: "ready",
    url: server.url,
    data: toDataPlace(options),
    listeners: server.listeners,
    agents: names,
    defaultAgent,
    open,
  });
}

/** How long the parent may take to send a command. */
const COMMAND_MS = 200;

/** The exit code of a process that SIGTERM ended. */
const SIGTERM_CODE = 143;

async function load({ agents: directory, config, logFormat }: ServerOptions): Promise<LoadedAgents> {
  const imports = collectImports();
  const broken: string[] = [];
  try {
    const loaded = await loadAgents(directory, (file, error) => {
      broken.push(file);
      printFailure(error, logFormat);
    });
    // Loaded here too, so that its files are watched.
    await loadServerConfig(config);
    await tell({ type: "loaded", ...imports(), withoutAgent: loaded.withoutAgent, broken });
    return loaded;
  } catch (thrown) {
    await tell({ type: "failed", ...imports() });
    throw thrown;
  }
}

/** Counts the runs whose request runs, waits or sleeps; of more than a hundred of a kind only the first. */
async function countOpenRuns(runtime: Runtime): Promise<number> {
  const pages = [
    runtime.runs({ status: "running", limit: 100 }),
    runtime.runs({ status: "waiting", limit: 100 }),
    runtime.runs({ status: "held", limit: 100 }),
  ];
  return (await Promise.all(pages)).reduce((sum, { runs }) => sum + runs.length, 0);
}

/** Resolves when the parent has the report, or is gone. */
function tell(report: ServerReport): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(report, () => resolve());
  });
}

/**
 * Collects the files that are imported from now on, also those that do not load: everything but packages
 * and this program; and the packages that are imported without being installed. The returned function stops and returns them.
 */
function collectImports(): () => { readonly files: readonly string[]; readonly missing: readonly string[] } {
  const files = new Set<string>();
  const missing = new Set<string>();
  const add = (url: string): void => {
    if (url.startsWith("file:") && !url.includes("/node_modules/") && !url.startsWith(OWN)) {
      files.add(fileURLToPath(new URL(url.replace(/[?#].*$/, ""))));
    }
  };
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      try {
        const resolved = next(specifier, context);
        add(resolved.url);
        return resolved;
      } catch (thrown) {
        // A file that does not exist yet is watched too.
        if (/^\.{0,2}\//.test(specifier)) add(new URL(specifier, context.parentURL).href);
        else if (context.parentURL?.startsWith("file:") === true && !context.parentURL.startsWith(OWN)) {
          const name = packageOf(specifier);
          if (!isInstalled(name, context.parentURL)) missing.add(name);
        }
        throw thrown;
      }
    },
  });
  return () => {
    hooks.deregister();
    return { files: [...files], missing: [...missing] };
  };
}

/** The name of the package in `name`, `name/part` or `@scope/name/part`. */
function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function isInstalled(name: string, importer: string): boolean {
  const folders = createRequire(importer).resolve.paths(name) ?? [];
  return folders.some((folder) => existsSync(join(folder, name, "package.json")));
}

/** The folder of this program's own code. */
const OWN = new URL("../..", import.meta.url).href;
