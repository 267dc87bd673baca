import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { Takeover } from "../../src/cluster/takeover.ts";
import type { TakeoverOptions } from "../../src/ports/router.ts";

test.each([
  { about: "cannot judge others", first: () => Promise.resolve(false) },
  { about: "fails", first: () => Promise.reject(new Error("the log is away")) },
])("a change of the nodes is looked at again if the look $about, and then no more", async ({ first }) => {
  const environment = manualEnvironment();
  const looks: TakeoverOptions[] = [];
  const takeover = new Takeover(
    environment,
    () => {},
    (options) => {
      looks.push(options);
      return looks.length === 1 ? first() : Promise.resolve(true);
    },
  );
  takeover.start();
  takeover.soon();
  await environment.advance(10_000);
  takeover.stop();
  expect(looks.slice(0, 3)).toEqual([{ hasChanged: true }, { hasChanged: true }, { hasChanged: false }]);
});

test("a node looks again after each look, at once if its nodes have changed meanwhile, and not after its stop", async () => {
  const environment = manualEnvironment();
  const looks: { readonly atMs: number; readonly end: () => void }[] = [];
  const takeover = new Takeover(
    environment,
    () => {},
    () =>
      new Promise((resolve) => {
        looks.push({ atMs: environment.monotonic(), end: () => resolve(true) });
      }),
  );
  const startMs = environment.monotonic();
  takeover.start();
  await environment.advance(0);
  looks[0]?.end();
  await environment.advance(3_000);
  takeover.soon();
  looks[1]?.end();
  await environment.advance(1);
  expect(looks.map(({ atMs }) => atMs - startMs)).toEqual([0, 3_000, 3_000]);
  takeover.stop();
  looks[2]?.end();
  await environment.advance(60_000);
  expect(looks).toHaveLength(3);
});
