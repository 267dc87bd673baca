import { describe, expect, test } from "vitest";
import { AgentError } from "../../../errors.ts";
import { Fenced, Owned } from "../../../ports/event-log.ts";
import { asRunId, startRun } from "../../event-log/subject.ts";
import { settle, until } from "../subject.ts";
import type { RouterSubject } from "../subject.ts";
import { claimedBy, serveNodes } from "../several-nodes.ts";

const RUN = asRunId("run");

/** The owner of a run gets its messages; only for routers of several nodes. */
export function testOwnership(subject: RouterSubject): void {
  if (subject.join === undefined) return;

  describe("several nodes", () => {
    test("a run that a node owns gets its messages there, from each node", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await claimedBy(b, "run");
      for (const { router } of [a, b])
        expect(await settle(subject, router.send(RUN, "hello"))).toEqual({ runId: RUN, message: "hello" });
      expect(b.handler.delivered).toHaveLength(2);
      expect(a.handler.delivered).toEqual([]);
    });

    test("a new run is for the node that gets its first message", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await settle(subject, a.router.send(asRunId("of-a"), null));
      await settle(subject, b.router.send(asRunId("of-b"), null));
      expect(a.handler.delivered).toMatchObject([{ runId: "of-a" }]);
      expect(b.handler.delivered).toMatchObject([{ runId: "of-b" }]);
    });

    test("a run is new only for the first attempt of its first message", async () => {
      const [a, b] = await serveNodes(subject, 2);
      a.handler.work = async () => {
        if (a.handler.delivered.length > 1) return;
        await claimedBy(b, "run");
        throw new AgentError("unavailable", "not written", { cause: new Fenced("another owner") });
      };
      expect(await settle(subject, a.router.send(RUN, "hello", { isNew: true }))).toMatchObject({
        message: "hello",
      });
      const told = [...a.handler.delivered, ...b.handler.delivered].map(({ options }) => options);
      expect(told.map((options) => [options?.isNew === true, options?.isRepeated === true])).toEqual([
        [true, false],
        [false, true],
      ]);
      expect(b.handler.delivered).toHaveLength(1);
    });

    test("an error of another node keeps its code, message and details", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await claimedBy(b, "run");
      b.handler.work = () => {
        throw new AgentError("too_large", "the input is too long", { facts: { limit: 9 } });
      };
      const sent = settle(subject, a.router.send(RUN, null));
      await expect(sent).rejects.toBeInstanceOf(AgentError);
      await expect(sent).rejects.toMatchObject({
        code: "too_large",
        message: "the input is too long",
        details: { facts: { limit: 9 } },
      });
    });

    test("what is no error for clients leaves a node as internal, without its text", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await claimedBy(b, "run");
      b.handler.work = () => {
        throw new TypeError("a path or a password");
      };
      const sent = settle(subject, a.router.send(RUN, null));
      await expect(sent).rejects.toMatchObject({ code: "internal" });
      await expect(sent).rejects.not.toMatchObject({
        message: expect.stringContaining("password") as string,
      });
    });

    test("a message reaches the new owner, if the first node finds that it is not the owner", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await claimedBy(a, "run");
      a.handler.work = async () => {
        await claimedBy(b, "run");
        throw new Owned(RUN, b.log.node);
      };
      expect(await settle(subject, b.router.send(RUN, "hello"))).toMatchObject({ message: "hello" });
      expect(a.handler.delivered).toHaveLength(1);
      expect(b.handler.delivered).toHaveLength(1);
    });

    test("a run in the memory of a node gets its messages there", async () => {
      const [a, b] = await serveNodes(subject, 2);
      const cursor = await startRun(b.log, "run", 1);
      b.log.release(cursor);
      a.handler.held.add(RUN);
      await settle(subject, a.router.send(RUN, null));
      expect(a.handler.delivered).toHaveLength(1);
    });

    test("one of the nodes continues a run that no living node owns, and does a task for all", async () => {
      const nodes = await serveNodes(subject, 3);
      const ownersOf = (run: string): Promise<boolean[]> =>
        Promise.all(nodes.map(({ router }) => router.isMine(asRunId(run))));
      // A node that stood still for a moment does nothing for the others until it has heard of them again.
      for (let run = 0; run < 10; run += 1)
        await until(subject, async () => (await ownersOf(`run-${run}`)).filter(Boolean).length === 1);
      for (const task of ["one", "two", "three"])
        await until(subject, () => nodes.filter(({ router }) => router.leads(task)).length === 1);
      const [a] = nodes;
      await claimedBy(a, "owned");
      let owners: readonly boolean[] = [];
      await until(subject, async () => (owners = await ownersOf("owned")).includes(true));
      expect(owners).toEqual([true, false, false]);
    });
  });
}
