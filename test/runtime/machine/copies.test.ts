import { readFile } from "node:fs/promises";
import { fromMachine } from "troupe";
import { expect, test } from "vitest";
import {
  createMachine,
  fromCallback,
  fromEventObservable,
  fromObservable,
  fromPromise,
  fromTransition,
} from "xstate";
import { XSTATE_VERSION, isPromise } from "../../../src/runtime/machine/copies.ts";
import { killInCharge } from "./copies.ts";

test(
  "a promise of a machine whose copy of XState is bundled and minified runs once over a kill",
  { tags: "long" },
  async () => {
    expect(await killInCharge({ bundler: "rolldown" })).toEqual({ charged: 1, end: "success true" });
  },
);

test("promise actors are known by what they do, and nothing else is taken for one", () => {
  const observed = { subscribe: () => ({ unsubscribe() {} }) };
  expect(isPromise(fromPromise(async () => {}))).toBe(true);
  for (const logic of [
    fromCallback(() => {}),
    fromObservable(() => observed),
    fromEventObservable(() => observed),
    fromTransition((state: object, event) => ({ ...state, status: "done", output: event }), {}),
    createMachine({}),
  ])
    expect(isPromise(logic)).toBe(false);
});

test("a machine of a copy of XState that is not served is refused, with the versions of both", () => {
  const old = createMachine({});
  Object.assign(old, { options: undefined });
  const refused = (machine: unknown) => () =>
    fromMachine({ name: "door", purpose: "Opens.", machine: machine as typeof old });
  expect(refused(old)).toThrow(
    `the machine of agent door comes from an XState that is older than 5.31.0; troupe has XState ${XSTATE_VERSION}`,
  );
  expect(refused({ config: {} })).toThrow("the machine of agent door is not one of XState 5;");
  const inside = createMachine({ invoke: { src: "old" } });
  expect(refused(inside.provide({ actors: { old } }))).toThrow("is older than 5.31.0");
});

test("the version of XState in its messages is that of the package", async () => {
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  expect(XSTATE_VERSION).toBe(dependencies["xstate"]);
});
