import { setInterval } from "node:timers/promises";
import { Command, InvalidArgumentError } from "./vendor/commander.ts";
import type { Wire } from "../client/wire/wire.ts";
import { AgentError, isInstance } from "../errors.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import { isObject } from "../protocol/json.ts";
import { addConnectionOptions, connectWire, talk } from "./connect.ts";
import type { ConnectionOptions } from "./connect.ts";
import { EXIT, Exit } from "./exit.ts";
import { Meter } from "./print/meter.ts";
import { stderr, stdout } from "./print/terminal.ts";

interface EraseOptions extends ConnectionOptions {
  readonly owner?: string;
  readonly agent?: string;
  readonly run?: string;
  readonly key?: string;
  readonly metadata: JsonObject;
  readonly yes: boolean;
}

/** `troupe erase`: removes what a server has of an owner, an actor or a run, also from its files. */
export function eraseCommand(): Command {
  return addConnectionOptions(new Command("erase"))
    .description(
      "Erases runs with their events, memory, files and metadata, and overwrites them in the files of the log. TROUPE_TOKEN must be an admin's.",
    )
    .option("--owner <name>", "everything of this owner")
    .option("--agent <name>", "only runs of this agent")
    .option("--run <id>", "this run")
    .option("--key <key>", "the actor with this key; needs --agent")
    .option("--metadata <name=value>", "runs with this value in their metadata; repeatable", gatherPairs, {})
    .option("--yes", "erase; without it the command only says what it would do", false)
    .addHelpText("after", "\nExample: troupe erase --owner acme --yes")
    .action(async ({ owner, agent, run, key, metadata, yes, ...options }: EraseOptions) => {
      const body = {
        ...(owner !== undefined && { owner }),
        ...(agent !== undefined && { agent }),
        ...(run !== undefined && { run_id: run }),
        ...(key !== undefined && { key }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      };
      if (!("owner" in body || "run_id" in body || "key" in body || "metadata" in body)) {
        throw new Exit(
          EXIT.usage,
          "an erasure needs an owner, a run, a key or metadata",
          "add --owner, --run, --key or --metadata",
        );
      }
      const wire = connectWire(options);
      if (!yes) {
        throw new Exit(
          EXIT.usage,
          `this erases for ever what has all of ${JSON.stringify(body)}`,
          "add --yes if that is meant",
        );
      }
      const { json } = await talk(wire, async () => {
        const stop = await showProgress(wire, {
          owner,
          agent,
          isPart: "run_id" in body || "key" in body || "metadata" in body,
        });
        try {
          return await wire.ask("POST", "/erase", { body, timeoutMs: PATIENCE_MS });
        } catch (thrown) {
          if (!isInstance(thrown, AgentError) || thrown.code !== "timeout") throw thrown;
          throw new Exit(
            EXIT.unavailable,
            "the server is still erasing",
            "it goes on; repeat the command to see the end",
          );
        } finally {
          stop();
        }
      });
      const runs = isObject(json) ? Number(json["runs"]) : 0;
      stdout.line(String(runs));
      stderr.line(runs === 1 ? "1 run is erased" : `${runs} runs are erased`);
    });
}

/** How long the server may take, in milliseconds; `fetch` waits for an answer for five minutes. */
const PATIENCE_MS = 290_000;

/** Shows on a terminal how many of the runs are gone. What is erased beside whole owners and agents is few, and not counted. */
async function showProgress(
  wire: Wire,
  {
    owner,
    agent,
    isPart,
  }: { readonly owner: string | undefined; readonly agent: string | undefined; readonly isPart: boolean },
): Promise<() => void> {
  if (isPart || !stderr.isTTY) return () => {};
  const count = async (): Promise<number> => {
    const query = { ...(owner !== undefined && { owner }), ...(agent !== undefined && { agent }) };
    const { headers } = await wire.ask("GET", "/runs", { query: { ...query, limit: "1", total: "all" } });
    return Number(headers.get("total-count"));
  };
  const total = await count();
  const meter = new Meter("runs", total);
  meter.show(0);
  const stop = new AbortController();
  void (async () => {
    for await (const _ of setInterval(LOOK_MS, undefined, { signal: stop.signal }))
      meter.show(Math.max(0, total - (await count())));
  })().catch(() => {});
  return () => {
    stop.abort();
    meter.end();
  };
}

const LOOK_MS = 500;

/** A value is JSON where it can be read as JSON, otherwise a text. */
function gatherPairs(text: string, pairs: JsonObject): JsonObject {
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Write name=value.");
  return { ...pairs, [name]: toValue(value) };
}

function toValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
