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
