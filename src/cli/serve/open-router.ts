import { clusterRouter } from "../../cluster/cluster-router.ts";
import { localRouter } from "../../cluster/local-router.ts";
import { AgentError } from "../../errors.ts";
import { httpTransport } from "../../node/cluster/http-transport.ts";
import { nodeEnvironment } from "../../node/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { Router } from "../../ports/router.ts";
import { EXIT, Exit } from "../exit.ts";
import type { Log } from "../print/log.ts";
import type { ServerOptions } from "./server-options.ts";

/** Creates the router of a server for its log. */
export type OpenRouter = (log: EventLog) => Router;

/** Checks the options for several nodes. The router sends messages to them with `--cluster`, otherwise within this process. */
export function toOpenRouter({ cluster, single, log }: ServerOptions, lines: Log): OpenRouter {
  if (cluster === undefined) return localRouter;
  if (log === undefined) {
    throw new Exit(
      EXIT.refused,
      "--cluster needs a database that the nodes share",
      "use --log postgres://user@host:5432/database",
    );
  }
  if (single) {
    throw new Exit(EXIT.refused, "--single is for one node, --cluster for several", "leave one of them out");
  }
  const secret = process.env["TROUPE_CLUSTER_SECRET"] ?? "";
  const fault = onceInAWhile(lines);
  try {
    const transport = httpTransport({ url: cluster, ...(secret !== "" && { secret }), fault });
    return (shared) => clusterRouter({ log: shared, transport, environment: nodeEnvironment(), fault });
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    throw new Exit(EXIT.refused, thrown.message, thrown.details.hint);
  }
}

/** Prints each fault at most once a minute: while it lasts, it comes with each message between the nodes. */
function onceInAWhile(lines: Log): (message: string, thrown?: unknown) => void {
  const printed = new Map<string, number>();
  return (message, thrown) => {
    const now = performance.now();
    if (now - (printed.get(message) ?? -Infinity) < AGAIN_MS) return;
    if (printed.size >= MOST_PRINTED) printed.clear();
    printed.set(message, now);
    lines.fault(message, thrown);
  };
}

const AGAIN_MS = 60_000;
const MOST_PRINTED = 1_000;
