// The exchange of wakes among nodes whose messages get lost, arrive late and twice, and which cannot reach each other for a
// while, die and join. Nothing here looks into the log from time to time, so a wake that is missing is found.
import { manualEnvironment } from "troupe/testing";
import type { ManualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { WakeExchange } from "../../src/cluster/wake-exchange.ts";
import type { LogWakes, Member, RunWake, WakeCarrier } from "../../src/ports/router.ts";
import type { RunId } from "../../src/protocol/ids.ts";
import type { Json } from "../../src/protocol/json.ts";
import { createRandom } from "../../src/testing/event-log/random.ts";

const RUNS: readonly RunId[] = ["a", "b", "c", "d"];

/** How long a node is not known to be dead, in milliseconds. */
const LEASE_MS = 1_500;

/** The longest time until a reader has seen a change, in milliseconds: that of a message without an answer, and some way. */
const SEEN_MS = 3_000;

type Random = ReturnType<typeof createRandom>;

/** A node: its readers read the run after each wake. */
class WorldNode {
  readonly id: string;
  readonly #world: World;
  readonly exchange: WakeExchange;
  carrier: WakeCarrier | undefined;
  isAlive = true;
  /** What it has read of each run that is followed on it. */
  readonly read = new Map<RunId, number>();

  constructor(world: World, id: string) {
    this.#world = world;
    this.id = id;
    const wakes: LogWakes = {
      carry: (carrier) => {
        this.carrier = carrier;
        return () => void (this.carrier = undefined);
      },
      heard: (changes) => this.hear(changes),
      look: () => {
        for (const runId of this.read.keys()) this.#readSoon(runId);
      },
      tellAll: (changes) => world.notify(this, (other) => other.hear(changes)),
      disown: (disowned, number) =>
        world.notify(this, (other) => {
          if (other.id === disowned) other.carrier?.disowned(id, number);
        }),
    };
    this.exchange = new WakeExchange({
      wakes,
      node: id,
      environment: { ...world.environment, timer: (ms, fire) => world.timer(this, ms, fire) },
      members: () => world.membersFor(this),
      look: () => {},
      transport: {
        url: id,
        listen: async () => async () => {},
        send: (to, message, signal) => world.send(this, to, message, signal),
      },
    });
  }

  follow(runId: RunId): void {
    if (this.read.has(runId)) return;
    this.read.set(runId, 0);
    this.carrier?.follow(runId);
    this.#readSoon(runId);
  }

  unfollow(runId: RunId): void {
    if (this.read.delete(runId)) this.carrier?.unfollow(runId);
  }

  hear(changes: readonly RunWake[]): void {
    for (const { runId } of changes) if (this.read.has(runId)) this.#readSoon(runId);
  }

  /** Changes a run, which this node owns from now on. */
  change(runId: RunId): void {
    const { versions } = this.#world;
    versions.set(runId, (versions.get(runId) ?? 0) + 1);
    if (this.read.has(runId)) this.#readSoon(runId);
    const changes = [{ runId, epoch: 1 }];
    this.carrier?.tell(changes);
    if (this.#needsNotify()) this.#world.notify(this, (other) => other.hear(changes));
  }

  #needsNotify(): boolean {
    const { carrier } = this;
    if (carrier?.reachesAll !== true) return true;
    return this.#world.nodes.some(
      ({ id }) => id !== this.id && !["carried", "gone"].includes(carrier.standingOf(id) ?? ""),
    );
  }

  #readSoon(runId: RunId): void {
    this.#world.timer(this, this.#world.random.below(4), () => {
      if (this.read.has(runId)) this.read.set(runId, this.#world.versions.get(runId) ?? 0);
    });
  }
}

class World {
  readonly random: Random;
  readonly environment: ManualEnvironment;
  readonly versions = new Map<RunId, number>();
  nodes: WorldNode[] = [];
  /** When nodes have died. */
  readonly #deaths = new Map<string, number>();
  /** The pairs that cannot reach each other. */
  readonly cuts = new Set<string>();
  notifies = 0;
  readonly #lossPercent: number;

  constructor(seed: number, lossPercent: number) {
    this.random = createRandom(seed);
    this.environment = manualEnvironment({ seed });
    this.#lossPercent = lossPercent;
  }

  start(): void {
    const node = new WorldNode(this, `node-${this.nodes.length}`);
    this.nodes.push(node);
    node.exchange.start();
    for (const other of this.#living) other.exchange.update();
  }

  kill(): void {
    if (this.#living.length < 3) return;
    const node = this.pick(this.#living);
    node.isAlive = false;
    this.#deaths.set(node.id, this.environment.monotonic());
    this.environment.timer(LEASE_MS, () => {
      for (const other of this.#living) other.exchange.update();
    });
  }

  get #living(): readonly WorldNode[] {
    return this.nodes.filter(({ isAlive }) => isAlive);
  }

  get any(): WorldNode {
    return this.pick(this.#living);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.random.below(items.length)] as Item;
  }

  membersFor(node: WorldNode): readonly Member[] {
    const now = this.environment.monotonic();
    return this.nodes.map(({ id }) => {
      const ageMs = now - (this.#deaths.get(id) ?? now);
      const isAlive = ageMs < LEASE_MS;
      return {
        node: id,
        url: id,
        state: "active",
        agents: {},
        wakes: true,
        isSelf: id === node.id,
        isAlive,
        ageMs,
      };
    });
  }

  timer(node: WorldNode, ms: number, fire: () => void): () => void {
    return this.environment.timer(ms, () => {
      if (node.isAlive) fire();
    });
  }

  /** Tells all other nodes over the database. */
  notify(from: WorldNode, tell: (node: WorldNode) => void): void {
    this.notifies += 1;
    const ms = 1 + this.random.below(3);
    for (const node of this.#living) if (node !== from) this.timer(node, ms, () => tell(node));
  }

  send(from: WorldNode, url: string, message: Json, signal: AbortSignal): Promise<Json> {
    const { promise, resolve, reject } = Promise.withResolvers<Json>();
    signal.addEventListener("abort", () => reject(new Error("aborted")));
    const to = this.nodes.find(({ id }) => id === url);
    const text = JSON.stringify(message);
    const arrive = (answers: boolean): void => {
      if (to?.isAlive !== true || this.#isLost(from, to)) return;
      const answer = to.exchange.receive(JSON.parse(text) as Json);
      if (!answers || this.#isLost(from, to)) return;
      this.timer(from, this.random.below(5), () => resolve(answer));
    };
    this.environment.timer(this.random.below(5), () => arrive(true));
    if (this.random.below(10) === 0) this.environment.timer(this.random.below(3_000), () => arrive(false));
    return promise;
  }

  #isLost(one: WorldNode, other: WorldNode): boolean {
    return this.cuts.has(pairOf(one, other)) || this.random.below(100) < this.#lossPercent;
  }

  /** The readers that have not seen the newest change. */
  get behind(): readonly string[] {
    return this.#living.flatMap(({ id, read }) =>
      [...read]
        .filter(([runId, version]) => version !== (this.versions.get(runId) ?? 0))
        .map(([runId, version]) => `${id} has read ${version} of ${runId}, not ${this.versions.get(runId)}`),
    );
  }
}

function pairOf(one: WorldNode, other: WorldNode): string {
  return [one.id, other.id].toSorted().join();
}

/** What can happen, as often as it is in the list. */
const STEPS: readonly ((world: World) => void)[] = [
  ...Array.from({ length: 12 }, () => (world: World) => world.any.change(world.pick(RUNS))),
  ...Array.from({ length: 5 }, () => (world: World) => world.any.follow(world.pick(RUNS))),
  ...Array.from({ length: 3 }, () => (world: World) => world.any.unfollow(world.pick(RUNS))),
  (world) => world.cuts.add(pairOf(world.any, world.any)),
  (world) => world.cuts.clear(),
  (world) => {
    if (world.random.below(5) === 0) world.kill();
  },
  (world) => {
    if (world.random.below(5) === 0 && world.nodes.length < 8) world.start();
  },
];

test(
  "each reader sees each change, also when nodes die and messages are lost",
  { tags: "long" },
  async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const world = new World(seed, [0, 5, 30][seed % 3] ?? 0);
      for (let count = 0; count < 3; count += 1) world.start();
      for (let round = 0; round < 8; round += 1) {
        for (let step = 0; step < 25; step += 1) {
          world.pick(STEPS)(world);
          await world.environment.advance(world.random.below(3) === 0 ? world.random.below(600) : 1);
        }
        await world.environment.advance(SEEN_MS);
        expect({ seed, round, behind: world.behind }).toEqual({ seed, round, behind: [] });
      }
    }
  },
);

test("nodes that hear each other need no NOTIFY", async () => {
  const world = new World(3, 0);
  for (let count = 0; count < 5; count += 1) world.start();
  await world.environment.advance(SEEN_MS);
  const before = world.notifies;
  for (let step = 0; step < 200; step += 1) {
    world.any.follow(world.pick(RUNS));
    world.any.change(world.pick(RUNS));
    world.any.unfollow(world.pick(RUNS));
    await world.environment.advance(1);
  }
  await world.environment.advance(100);
  expect(world.behind).toEqual([]);
  expect(world.notifies - before).toBe(0);
});

test("a node that joins many tells some of them at once what it follows, and those that have asked for it no second time", async () => {
  const environment = manualEnvironment();
  const sent: string[] = [];
  const exchange = new WakeExchange({
    wakes: {
      carry: () => () => {},
      heard: () => {},
      look: () => {},
      tellAll: () => {},
      disown: () => {},
    },
    node: "joined",
    environment,
    members: () =>
      Array.from({ length: 100 }, (_, at) => ({
        node: `node-${at}`,
        url: `http://node-${at}`,
        state: "active",
        agents: {},
        wakes: true,
        isSelf: false,
        isAlive: true,
        ageMs: 0,
      })),
    look: () => {},
    transport: {
      url: "http://joined",
      listen: async () => async () => {},
      send: async (to) => {
        sent.push(to);
        return { taken: true, changed: [] };
      },
    },
  });
  exchange.start();
  expect(sent).toHaveLength(30);
  exchange.follow("a");
  const asks = {
    from: "node-99",
    to: "joined",
    number: 1,
    after: null,
    all: false,
    add: [],
    drop: [],
    asks: true,
  };
  exchange.receive({ wakes: asks });
  await environment.advance(299);
  expect(new Set(sent).size).toBe(31);
  await environment.advance(1_000);
  expect(new Set(sent).size).toBe(100);
  expect(sent.filter((to) => to === "http://node-99")).toHaveLength(1);
  exchange.stop();
});
