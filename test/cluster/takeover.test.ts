import { manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import type { View } from "../../src/cluster/known-nodes.ts";
import { Takeover } from "../../src/cluster/takeover.ts";
import type { TakeoverOptions } from "../../src/ports/router.ts";

test("a change of the nodes is looked at again if the look fails, and then no more", async () => {
  const { environment, looks, takeover } = start({ fail: (look) => look === 1 });
  takeover.soon();
  await environment.advance(10_000);
  takeover.stop();
  expect(looks.slice(0, 3).map(({ hasChanged }) => hasChanged)).toEqual([true, true, false]);
});

test("a node that cannot judge others yet looks as often as one that can, and at once when it can", async () => {
  let view: View = "none";
  const { environment, looks, takeover } = start({ view: () => view });
  await environment.advance(1_200);
  expect(looks).toEqual([]);
  view = "unsteady";
  await environment.advance(6_000);
  const unsteady = [
    { atMs: 1_500, hasChanged: false },
    { atMs: 4_500, hasChanged: false },
  ];
  expect(looks).toEqual(unsteady);
  takeover.soon();
  await environment.advance(300);
  unsteady.push({ atMs: 7_200, hasChanged: false });
  expect(looks).toEqual(unsteady);
  view = "steady";
  await environment.advance(4_000);
  takeover.stop();
  expect(looks.slice(3)).toEqual([
    { atMs: 7_800, hasChanged: true },
    { atMs: 10_800, hasChanged: false },
  ]);
});

test("a node looks again after each look, at once if its nodes have changed meanwhile, and not after its stop", async () => {
  const ends: (() => void)[] = [];
  const { environment, looks, takeover } = start({
    wait: () =>
      new Promise((end) => {
        ends.push(end);
      }),
  });
  await environment.advance(0);
  ends[0]?.();
  await environment.advance(3_000);
  takeover.soon();
  ends[1]?.();
  await environment.advance(1);
  expect(looks.map(({ atMs }) => atMs)).toEqual([0, 3_000, 3_000]);
  takeover.stop();
  ends[2]?.();
  await environment.advance(60_000);
  expect(looks).toHaveLength(3);
});

interface Look extends TakeoverOptions {
  readonly atMs: number;
}

/** A node that looks from now on, and its looks. */
function start({
  view = () => "steady",
  fail = () => false,
  wait = async () => {},
}: {
  readonly view?: () => View;
  readonly fail?: (look: number) => boolean;
  readonly wait?: () => Promise<void>;
}): {
  readonly environment: ReturnType<typeof manualEnvironment>;
  readonly looks: readonly Look[];
  readonly takeover: Takeover;
} {
  const environment = manualEnvironment();
  const startMs = environment.monotonic();
  const looks: Look[] = [];
  const takeover = new Takeover({
    environment,
    view,
    fault: () => {},
    look: async (options) => {
      looks.push({ atMs: environment.monotonic() - startMs, ...options });
      if (fail(looks.length)) throw new Error("the log is away");
      await wait();
    },
  });
  takeover.start();
  return { environment, looks, takeover };
}
