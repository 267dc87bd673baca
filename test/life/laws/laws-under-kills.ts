import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { postgresLog } from "troupe/postgres";
import { sqliteLog } from "troupe/storage/sqlite";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import { COLORS, checkReads } from "../../laws/races.ts";
import type { Read } from "../../laws/races.ts";
import { ENDS, Outside, STEPS, roomsOf } from "../../laws/sagas.ts";
import type { Deed } from "../../laws/sagas.ts";
import { KilledServers } from "./killed-servers.ts";
import type { Place } from "./laws-server.ts";

/** How much is done while servers are killed. */
export interface KilledLaws {
  /** The database of two nodes; absent for one server on SQLite. */
  readonly database?: Exclude<Place, string>;
  /** How often each kind of saga is made: there is one for each way to end at each step. */
  readonly sagas: number;
  /** The watched actors, with ten turns each. */
  readonly watched: number;
  /** The turns that race, with ten races each. */
  readonly racing: number;
  readonly accounts: number;
  /** How many things clients get done between two kills. */
  readonly every: number;
}

/** The faults of the laws, and what was done. */
export interface KilledReport {
  readonly faults: readonly string[];
  readonly kills: number;
  readonly done: string;
}

/** Cleanup, watch, select and retention while the servers of a log are killed again and again. */
export async function keepLawsUnderKills(laws: KilledLaws): Promise<KilledReport> {
  const { database, sagas, watched, racing, accounts, every } = laws;
  const folder = await mkdtemp(join(tmpdir(), "troupe-laws-"));
  const place = database ?? join(folder, "data");
  const outside = join(folder, "outside");
  const nodes = database === undefined ? 1 : 2;
  try {
    const faults: string[] = [];
    let kills = 0;
    const races: RaceEnd[] = [];
    const balances = new Map<string, number>();
    {
      await using servers = await KilledServers.start(nodes, { place, outside });
      const work = Promise.all([
        travel(servers, sagas),
        watch(servers, watched).then((found) => faults.push(...found)),
        race(servers, racing).then((ends) => races.push(...ends)),
        fillAccounts(servers, accounts, balances),
      ]);
      await servers.killUntil(work, every);
      faults.push(...(await checkTrips(servers, sagas, outside)));
      ({ kills } = servers);
    }
    faults.push(...(await checkRaces(place, races)));
    {
      await using servers = await KilledServers.start(nodes, { place, outside, retainMs: 1 });
      await servers.killUntil(awaitRetention(servers, accounts), Math.ceil(accounts / 3));
      kills += servers.kills;
    }
    // Retention would remove the answers.
    await using servers = await KilledServers.start(nodes, { place, outside });
    faults.push(...(await checkAccounts(servers, balances)));
    const done = `${tripsOf(sagas).length} sagas, ${watched * TURNS} watched turns, ${racing * RACES} races, ${accounts} accounts`;
    return { faults, kills, done };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The sagas, by the keys of their actors. */
function tripsOf(
  times: number,
): readonly { readonly key: string; readonly end: (typeof ENDS)[number]; readonly step: number }[] {
  return Array.from({ length: times }, (_, time) => time).flatMap((time) =>
    ENDS.flatMap((end, kind) =>
      Array.from({ length: STEPS }, (_, step) => ({
        key: `trip-${time}-${kind}-${step + 1}`,
        end,
        step: step + 1,
      })),
    ),
  );
}

const call = (operation: string, input: object, key: string, id: string) =>
  ({ type: "OperationRequest", operation, input, key, request_id: id }) as const;

/** Makes trips, and cancels those that are to be canceled. */
async function travel(servers: KilledServers, times: number): Promise<void> {
  await Promise.all(
    tripsOf(times).map(async ({ key, end, step }) => {
      const go = call("go", { end, step }, key, key);
      await servers.post("trip", go);
      if (end === "canceled during") await pause(step * 100 - 50);
      while (end === "canceled after" && (await servers.status(key))["status"] === "running")
        await pause(100);
      if (end.startsWith("canceled")) await servers.post("trip", { type: "CancelRequest", request_id: key });
      await servers.end("trip", go);
    }),
  );
}

async function checkTrips(
  servers: KilledServers,
  times: number,
  outside: string,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const lines = existsSync(outside) ? readFileSync(outside, "utf8").split("\n") : [];
  // A process that dies while it writes leaves no whole line.
  const deeds = lines.flatMap((line) => (line.endsWith("}") ? [JSON.parse(line) as Deed] : []));
  let booked = 0;
  for (const { key } of tripsOf(times)) {
    const provider = new Outside();
    for (const deed of deeds) if (deed.trip === key) provider.act(deed);
    faults.push(...provider.faults().map((fault) => `${key}: ${fault}`));
    const { finish_reason: reason, cleanup_errors: errors } = await servers.status(key);
    if (reason === "success" || errors !== undefined)
      faults.push(`${key}: ${String(reason)}, ${JSON.stringify(errors)}`);
    for (const room of roomsOf(key)) {
      const { output } = await servers.end("hotel", call("count", {}, room, `count-${room}`));
      const counts = output as { readonly booked: number; readonly undone: number };
      booked += counts.booked;
      if (counts.booked !== counts.undone || counts.booked > 1)
        faults.push(`${room}: ${JSON.stringify(counts)}`);
    }
  }
  if (booked === 0) faults.push("no trip has booked a room");
  return faults;
}

/** The turns of each watched actor. */
const TURNS = 10;

/** Has an actor watch others, and compares what it is told with how their turns have ended. */
async function watch(servers: KilledServers, watched: number): Promise<readonly string[]> {
  const keys = Array.from({ length: watched }, (_, index) => `worker-${index}`);
  await servers.end("boss", call("watch", { keys }, "boss", "watch"));
  const expected: Record<string, readonly string[]> = {};
  await Promise.all(
    keys.map(async (key, index) => {
      for (let turn = 0; turn < TURNS; turn += 1) {
        const id = `${key}-${turn}`;
        const work = call("work", { fails: (index + turn) % 3 === 0 }, key, id);
        const { finish_reason: reason } = await servers.end("worker", work);
        expected[id] = [String(reason)];
      }
    }),
  );
  for (let looks = 0; ; looks += 1) {
    const look = { ...call("noted", {}, "boss", `noted-${looks}`), wait: "completed" };
    const { output } = await servers.post("boss", look);
    const noted = (output ?? {}) as Readonly<Record<string, readonly string[]>>;
    const wrong = Object.keys(expected).filter((id) => String(noted[id]) !== String(expected[id]));
    if (Object.values(noted).flat().length >= watched * TURNS)
      return wrong.map((id) => `the end of ${id} was told as ${JSON.stringify(noted[id] ?? [])}`);
    await pause(100);
  }
}

/** The races of a turn. */
const RACES = 10;

interface RaceEnd {
  readonly requestId: string;
  readonly runId: string;
  readonly reads: readonly Read[];
  readonly sent: readonly string[];
}

/** Sends messages to turns that race. */
async function race(servers: KilledServers, racing: number): Promise<readonly RaceEnd[]> {
  return Promise.all(
    Array.from({ length: racing }, async (_, index): Promise<RaceEnd> => {
      const [requestId, key] = [`races-${index}`, `racer-${index}`];
      const random = createRandom(index + 1);
      const run = call("race", { seed: index + 1, races: RACES, unitMs: 40 }, key, requestId);
      await servers.post("racer", run);
      const sent: string[] = [];
      for (let left = RACES * 2; left > 0; left -= 1) {
        const id = `${key}-m${left}`;
        sent.push(id);
        const name = COLORS[random.below(3)] as string;
        await servers.post("racer", { type: "Message", name, body: sent.length, key, request_id: id });
        servers.did();
        await pause(random.below(80));
      }
      const { output, run_id: runId, ...end } = await servers.end("racer", run);
      if (!Array.isArray(output)) throw new Error(`${requestId}: ${JSON.stringify(end)}`);
      return { requestId, runId: String(runId), reads: output as readonly Read[], sent };
    }),
  );
}

async function checkRaces(place: Place, races: readonly RaceEnd[]): Promise<readonly string[]> {
  const log =
    typeof place === "string" ? sqliteLog(place) : await postgresLog({ ...place, node: "checks", max: 2 });
  const faults: string[] = [];
  for (const { requestId, runId, reads, sent } of races)
    for (const fault of await checkReads(log, runId, requestId, reads, sent))
      faults.push(`${requestId}: ${fault}`);
  await log.close();
  return faults;
}

/** Gives each account a balance, a letter that stays unread, and a schedule. */
async function fillAccounts(
  servers: KilledServers,
  accounts: number,
  balances: Map<string, number>,
): Promise<void> {
  let left = accounts;
  const fill = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const key = `account-${left}`;
      for (const amount of [1, 10, 100 + left]) {
        const pay = call("pay", { amount }, key, `${key}-${amount}`);
        const { finish_reason: reason } = await servers.end("account", pay);
        if (reason === "success") balances.set(key, (balances.get(key) ?? 0) + amount);
      }
      await servers.post("account", {
        type: "Message",
        name: "letter",
        body: key,
        key,
        request_id: `${key}-letter`,
      });
      await servers.end("account", call("plan", {}, key, `${key}-plan`));
    }
  };
  await Promise.all(Array.from({ length: 8 }, fill));
}

/** Resolves when no account has its first turn any more. */
async function awaitRetention(servers: KilledServers, accounts: number): Promise<void> {
  for (let index = 0; index < accounts;)
    if ((await servers.status(`account-${index}-1`))["status"] === "completed") await pause(100);
    else {
      servers.did();
      index += 1;
    }
}

async function checkAccounts(
  servers: KilledServers,
  balances: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [key, balance] of balances) {
    const { output } = await servers.end("account", call("all", {}, key, `${key}-all`));
    const expected = JSON.stringify({ balance, letters: [key], schedules: ["interest"] });
    if (JSON.stringify(output) !== expected)
      faults.push(`${key} has ${JSON.stringify(output)}, not ${expected}`);
  }
  return faults;
}
