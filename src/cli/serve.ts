import { Command } from "commander";
import { drainOnSignals } from "../node/signals.ts";
import { toBanner } from "./banner.ts";
import { readVersion } from "./package-version.ts";
import { addServerOptions } from "./server-options.ts";
import type { ServerOptions } from "./server-options.ts";
import { isStopMessage } from "./server-report.ts";
import type { FailureReport, ServerReport } from "./server-report.ts";
import { startServer } from "./start-server.ts";

/** `troupe serve`: serves the agents of a directory until it is told to stop. */
export function serveCommand(): Command {
  return addServerOptions(new Command("serve"))
    .description("Serves the agents of a directory.")
    .action((options: ServerOptions) => (process.send ? serveForParent(options) : serveAlone(options)));
}

async function serveAlone(options: ServerOptions): Promise<void> {
  const { runtime, server } = await startServer(options);
  drainOnSignals(server, runtime);
  const { agents, defaultAgent } = runtime;
  console.log(toBanner({ url: server.url, agents, defaultAgent }, options, readVersion()));
}

/** Serves for `troupe dev`, which prints and decides: this process ends when the other says so, or is gone. */
async function serveForParent(options: ServerOptions): Promise<void> {
  let stop = async (): Promise<unknown> => undefined;
  const leave = (): void => void stop().finally(() => process.exit(0));
  process.on("message", (message) => {
    if (isStopMessage(message)) leave();
  });
  process.on("disconnect", leave);
  process.on("SIGTERM", leave);
  // The terminal sends this one to both processes.
  process.on("SIGINT", () => {});

  const { runtime, server } = await startServer(options).catch(async (thrown: unknown) => {
    await tell({ type: "failed" });
    throw thrown;
  });
  // What is cut goes on after the next start, which is soon.
  stop = () => Promise.allSettled([server.close({ graceMs: 0 }), runtime.close({ drainMs: 0 })]);
  const { agents, defaultAgent } = runtime;
  await tell({ type: "ready", url: server.url, agents, defaultAgent });
}

/** Resolves when the parent has it, or is gone. */
function tell(report: ServerReport | FailureReport): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(report, () => resolve());
  });
}
