// Kills a server from outside while its turns wait, and prints how they ended:
// npm run test:kills [-- --kills 300 --seed 1]
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import { RestartedServer } from "./restarted-server.ts";

export interface OutsideKills {
  readonly kills: number;
  readonly seed: number;
  /** How many turns of each kind are open at the same time. */
  readonly each: number;
  /** Whether a turn kills the server itself in the end. */
  readonly endsItself: boolean;
}

/** How many turns ended in which way; `deadly` is the end of a turn that kills its process itself. */
export interface Ends {
  readonly ends: Readonly<Record<string, number>>;
  readonly deadly: string | undefined;
}

/** A server lives so long before it is killed, in milliseconds, counted from when it serves. */
const LIFE_MS = 2_000;

/** Kills a server again and again under turns that only wait, and then lets a turn kill it. */
export async function killFromOutside({ kills, seed, each, endsItself }: OutsideKills): Promise<Ends> {
  const random = createRandom(seed);
  await using server = new RestartedServer("waiting-agents");
  const ends: Record<string, number> = {};
  let goesOn = true;
  let number = 0;
  const next = async (agent: string, input: string): Promise<void> => {
    number += 1;
    const { finish_reason: reason, error } = await server.ask(agent, input, `${agent}-${number}`);
    const end = error?.code ?? String(reason);
    ends[end] = (ends[end] ?? 0) + 1;
  };
  const again = async (agent: string, input: string): Promise<void> => {
    do await next(agent, input);
    while (goesOn);
  };
  const desk = { key: "desk", wait: "acknowledged" } as const;
  const read = { type: "OperationRequest", operation: "read", input: { notes: 100_000 } } as const;
  await server.post("reader", { ...desk, ...read, request_id: "reading" });
  for (let note = 0; note < 100; note += 1)
    await server.post("reader", {
      ...desk,
      type: "Message",
      name: "note",
      body: "x",
      request_id: `note-${note}`,
    });
  const turns = ["teller 20", "worker 1500", "napper "].flatMap((what) => {
    const [agent = "", input = ""] = what.split(" ");
    return Array.from({ length: each }, () => again(agent, input));
  });
  const asks = Array.from({ length: each }, (_, at) => again("asker", `slow-${at}`));
  for (let kill = 0; kill < kills; kill += 1) {
    await server.url;
    await pause(random.below(LIFE_MS));
    await server.kill();
  }
  goesOn = false;
  await Promise.all([...turns, ...asks]);
  if (!endsItself) return { ends, deadly: undefined };
  const { error } = await server.ask("deadly", "", "deadly");
  return { ends, deadly: error?.code };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { kills: { type: "string", default: "300" }, seed: { type: "string", default: "1" } },
  });
  const { ends, deadly } = await killFromOutside({
    kills: Number(values.kills),
    seed: Number(values.seed),
    each: 10,
    endsItself: true,
  });
  const others = Object.entries(ends).map(([end, count]) => `${count} ${end}`);
  console.log(
    `${values.kills} kills from outside: ${others.join(", ")}; a turn that kills its process: ${deadly}`,
  );
  process.exitCode = Object.keys(ends).join() === "success" && deadly === "poisoned" ? 0 : 1;
}
