import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { CreateRuntimeOptions, EventLog } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { localRouter } from "../../../src/cluster/local-router.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { textsOf } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";

/** So many runs speak when the window is as long as it can be. */
const BUSY = 40;

/**
 * A runtime with some runs of an agent that says texts at the pace of a model, and then sleeps or does nothing more.
 * `commits` has what each commit of the first run contains.
 */
async function talk({
  runs = BUSY,
  texts = 9,
  content = "text ",
  paceMs = 20,
  last = "nothing",
  engine = {},
  options = {},
}: {
  readonly runs?: number;
  readonly texts?: number;
  readonly content?: string;
  readonly paceMs?: number;
  readonly last?: "sleep" | "nothing";
  /** What the log says of itself. */
  readonly engine?: Partial<EventLog>;
  readonly options?: Partial<CreateRuntimeOptions>;
} = {}) {
  const environment = manualEnvironment();
  const log = memoryLog();
  const commits: string[] = [];
  const said: number[] = [];
  let first: string | undefined;
  const talker = defineAgent({
    name: "talker",
    purpose: "Says texts at the pace of a model.",
    async chat(input, turn) {
      for (let index = 0; index < texts; index += 1) {
        await turn.text(content);
        if (input === "0") said.push(environment.monotonic());
        await new Promise<void>((resolve) => {
          environment.timer(paceMs, resolve);
        });
      }
      if (last === "sleep") await turn.sleep(1);
      else await new Promise<never>(() => {});
    },
  });
  const runtime = createRuntime({
    agents: [talker],
    environment,
    log: {
      ...log,
      ...engine,
      append(cursor, batch) {
        first ??= cursor.runId;
        const types = toEncoded(batch.events).map((text) => (JSON.parse(text) as { type: string }).type);
        if (cursor.runId === first && types.length > 0)
          commits.push(`${environment.monotonic()} ms: ${types.join(" ")}`);
        return log.append(cursor, batch);
      },
    },
    ...options,
  });
  async function ask(...inputs: readonly string[]): Promise<void> {
    for (const input of inputs)
      void runtime.process("talker", { type: "ChatRequest", input }).catch(() => {});
    await environment.idle();
  }
  await ask(...Array.from({ length: runs }, (_, run) => String(run)));
  return {
    ask,
    environment,
    commits,
    said,
    async close(): Promise<void> {
      const closed = runtime.close();
      // Turns get no time to end.
      await environment.advance(0);
      await closed;
    },
  };
}

test("on an idle server each text is committed when it is said", async () => {
  const { environment, commits, close } = await talk({ runs: 1, texts: 3 });
  await environment.advance(100);
  expect(commits).toEqual([
    "0 ms: RequestStarted",
    "0 ms: TextOutput",
    "20 ms: TextOutput",
    "40 ms: TextOutput",
  ]);
  await close();
});

test("on a busy server the first text is committed at once, and later ones gather", async () => {
  const { environment, commits, close } = await talk();
  await environment.advance(300);
  expect(commits).toEqual([
    "0 ms: RequestStarted",
    "0 ms: TextOutput",
    // The window opens with the second text, and the fifth is the first that comes 50 ms later.
    "80 ms: TextOutput TextOutput TextOutput TextOutput",
    "160 ms: TextOutput TextOutput TextOutput TextOutput",
  ]);
  await close();
});

test("a text that gathers lets the next one follow at once", async () => {
  const { environment, said, close } = await talk({ texts: 4 });
  await environment.advance(70);
  expect(said).toEqual([0, 20, 40, 60]);
  await close();
});

test("a window closes by itself when no more texts come", async () => {
  const { environment, commits, close } = await talk({ texts: 3 });
  await environment.advance(89);
  expect(commits.splice(0)).toEqual(["0 ms: RequestStarted", "0 ms: TextOutput"]);
  await environment.advance(1);
  expect(commits).toEqual(["90 ms: TextOutput TextOutput"]);
  await close();
});

test("the first text after the length of a window closes it at once, where a commit costs nothing", async () => {
  const { environment, commits, close } = await talk({ texts: 5, paceMs: 33 });
  await environment.advance(99);
  expect(commits.at(-1)).toBe("99 ms: TextOutput TextOutput TextOutput");
  await close();
});

test("where a commit costs something, a full window waits for one, or until its time is over", async () => {
  const { environment, commits, close } = await talk({ texts: 6, engine: { durability: "full" } });
  await environment.advance(89);
  expect(commits.at(-1)).toBe("0 ms: TextOutput");
  await environment.advance(1);
  expect(commits.at(-1)).toBe("90 ms: TextOutput TextOutput TextOutput TextOutput");
  await close();
});

test("a full window closes with the commit of another run", async () => {
  const { environment, commits, ask, close } = await talk({ texts: 5, engine: { durability: "full" } });
  await environment.advance(81);
  expect(commits.at(-1)).toBe("0 ms: TextOutput");
  await ask("another");
  expect(commits.at(-1)).toBe("81 ms: TextOutput TextOutput TextOutput TextOutput");
  await close();
});

test.each([
  { sharesRows: false, last: "0 ms: TextOutput" },
  { sharesRows: true, last: "61 ms: TextOutput TextOutput TextOutput" },
])("a window is full earlier if successive texts share a row: $sharesRows", async ({ last, ...own }) => {
  const engine = { durability: "full", ...own } as const;
  const { environment, commits, ask, close } = await talk({ texts: 5, engine });
  await environment.advance(61);
  await ask("another");
  expect(commits.at(-1)).toBe(last);
  await close();
});

/** The router of a node beside which runs speak on others. */
function besideSpeaking(runs: () => number): Partial<CreateRuntimeOptions> {
  return { router: { ...localRouter(), speakingElsewhere: runs } };
}

test("runs that speak on other nodes count like those that speak here", async () => {
  const here = await talk();
  await here.environment.advance(300);
  const elsewhere = await talk({ runs: 1, options: besideSpeaking(() => BUSY - 1) });
  await elsewhere.environment.advance(300);
  expect(elsewhere.commits).toEqual(here.commits);
  await Promise.all([here.close(), elsewhere.close()]);
});

const COSTLY = { durability: "full", sharesRows: true } as const;

test("a window of a run that speaks alone on its node is closed by the text that fills it: there is no commit to wait for", async () => {
  const { environment, commits, close } = await talk({
    runs: 1,
    engine: COSTLY,
    options: besideSpeaking(() => BUSY),
  });
  await environment.advance(130);
  expect(commits.slice(2)).toEqual([
    "60 ms: TextOutput TextOutput TextOutput",
    "120 ms: TextOutput TextOutput TextOutput",
  ]);
  await close();
});

test.each([
  ["all", 40, 0, "0 ms: TextOutput"],
  ["a quarter", 10, 30, "41 ms: TextOutput TextOutput"],
])(
  "a window is full earlier where only a part of the runs speaks, because commits are rarer there: %s",
  async (_, runs, elsewhere, last) => {
    const options = besideSpeaking(() => elsewhere);
    const { environment, commits, ask, close } = await talk({ runs, engine: COSTLY, options });
    await environment.advance(41);
    await ask("another");
    expect(commits.at(-1)).toBe(last);
    await close();
  },
);

test("texts no longer gather a tenth of a second after other nodes are known to be silent", async () => {
  let elsewhere = BUSY;
  const { environment, commits, close } = await talk({
    runs: 1,
    texts: 100,
    options: besideSpeaking(() => elsewhere),
  });
  await environment.advance(1_000);
  elsewhere = 0;
  await environment.advance(200);
  commits.length = 0;
  await environment.advance(200);
  expect(commits).toHaveLength(10);
  for (const commit of commits) expect(commit).toMatch(/ms: TextOutput$/);
  await close();
});

test.each([1, 10, 100, 1_000_000])(
  "no text waits for more than 1.4 times the longest window, and the first one not at all: %i runs elsewhere",
  async (runs) => {
    const { environment, commits, close } = await talk({
      runs: 1,
      texts: 20,
      engine: COSTLY,
      options: besideSpeaking(() => runs),
    });
    await environment.advance(600);
    let said = 0;
    for (const commit of commits.slice(1)) {
      const [at, ...texts] = commit.split(/ ms: | /);
      expect(Number(at) - said * 20).toBeLessThanOrEqual(said === 0 ? 0 : 70);
      said += texts.length;
    }
    expect(said).toBe(20);
    await close();
  },
);

test("without a window each text is committed when it is said, on a busy server too", async () => {
  const { environment, commits, close } = await talk({ texts: 2, options: { textWindowMs: 0 } });
  await environment.advance(100);
  expect(commits).toEqual(["0 ms: RequestStarted", "0 ms: TextOutput", "20 ms: TextOutput"]);
  await close();
});

test("a window closes when 4,096 characters have gathered", async () => {
  const { environment, commits, close } = await talk({ texts: 4, content: "x".repeat(2_048) });
  await environment.advance(45);
  expect(commits).toEqual(["0 ms: RequestStarted", "0 ms: TextOutput", "40 ms: TextOutput TextOutput"]);
  await close();
});

test("what is not a text commits the texts that have gathered, before it", async () => {
  const { environment, commits, close } = await talk({ texts: 3, last: "sleep" });
  await environment.advance(60);
  expect(commits).toEqual(["0 ms: RequestStarted", "0 ms: TextOutput", "60 ms: TextOutput TextOutput"]);
  await environment.advance(1);
  expect(commits.at(-1)).toBe("61 ms: RequestCompleted");
  await close();
  expect(environment.timers).toBe(0);
});

test("a closing runtime does not wait for texts, and stops the timer of the windows", async () => {
  const { environment, commits, close } = await talk({ texts: 3 });
  await environment.advance(50);
  await close();
  expect(commits.at(-1)).toBe("50 ms: TextOutput TextOutput");
  // Those of the handlers.
  expect(environment.timers).toBe(BUSY);
});

test("the end of a turn is in the commit of its last texts, unless the handler awaits them", async () => {
  const speaker = defineAgent({
    name: "speaker",
    purpose: "Says two texts at the end.",
    async chat(input, turn) {
      await turn.sleep(0);
      void turn.text("one ");
      const said = turn.text("two");
      if (input === "awaited") await said;
    },
  });
  const commitsOf = async (input: string): Promise<number> => {
    const host = new TestHost({ agents: [speaker] });
    await host.ask("speaker", { ...chat, input });
    await host.environment.advance(0);
    expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "one two" });
    return host.commits;
  };
  expect(await commitsOf("awaited")).toBe((await commitsOf("not awaited")) + 1);
});

test("a parked turn can say texts, each committed once, and its run stays in memory", async () => {
  const napper = defineAgent({
    name: "napper",
    purpose: "Says texts while it sleeps.",
    async chat(_input, turn) {
      const sleeping = turn.sleep(60_000);
      for (const word of ["one ", "two"]) {
        await host.pause(10_000);
        await turn.text(word);
      }
      await sleeping;
    },
  });
  const host: TestHost = new TestHost({ agents: [napper] });
  await host.ask("napper", chat);
  await host.environment.advance(20_000);
  expect(host.faults).toEqual([]);
  expect(textsOf(await host.events(asked))).toEqual(["one ", "two"]);
  await host.environment.advance(40_000);
  expect((await host.events(asked)).at(-1)).toMatchObject({ finish_reason: "success", result: "one two" });
});
