/** @module-tag long */
import { test } from "vitest";
import { killFromOutside } from "./outside-kills.ts";
import { RestartedServer } from "./restarted-server.ts";

const INNOCENTS = 8;

test.concurrent.for([
  { about: "one that exits", guilty: ["exit 20"], codes: ["poisoned"], workMs: 500 },
  {
    about: "two, one of them in an effect, of which its code is told",
    guilty: ["kill 20", "effect 40"],
    codes: ["poisoned", "interrupted"],
    workMs: 500,
  },
  { about: "one that exits late", guilty: ["exit 400"], codes: ["poisoned"], workMs: 2_500 },
])(
  "a turn that ends the process repeatedly is ended, and no other turn is affected: $about",
  { tags: "long", timeout: 180_000 },
  async ({ guilty, codes, workMs }, { expect }) => {
    await using server = new RestartedServer("deadly-agents");
    const others = Promise.all(
      Array.from({ length: INNOCENTS }, (_, at) => server.ask("innocent", `${workMs}`, `work-${at}`)),
    );
    const ends = await Promise.all(guilty.map((input, at) => server.ask("deadly", input, `deadly-${at}`)));
    expect(ends.map(({ error }) => error?.code)).toEqual(codes);
    expect((await others).map(({ finish_reason: reason }) => reason)).toEqual(
      Array.from({ length: INNOCENTS }, () => "success"),
    );
  },
);

test(
  "a turn whose errors end the process untraceably is poisoned too",
  { timeout: 180_000 },
  async ({ expect }) => {
    await using server = new RestartedServer("deadly-agents");
    const { error } = await server.ask("untraceable", "", "untraceable");
    expect(error?.code).toBe("poisoned");
  },
);

test(
  "a server that somebody else kills again and again ends no turn, also with full mailboxes, asks and slow tools",
  { tags: "long", timeout: 600_000 },
  async ({ expect }) => {
    const { ends } = await killFromOutside({ kills: 4, seed: 1, each: 2, endsItself: false });
    expect(Object.keys(ends)).toEqual(["success"]);
  },
);
