import { describe, expect, test } from "vitest";
import { AgentError } from "../../../errors.ts";
import { asRunId } from "../../event-log/subject.ts";
import { serveOne, settle, until } from "../subject.ts";
import type { RouterSubject } from "../subject.ts";

const RUN = asRunId("run");

/** Messages on one node. */
export function testDelivery(subject: RouterSubject): void {
  describe("delivery", () => {
    test("a message goes to the handler, and its reply comes back", async () => {
      const { router, handler } = await serveOne(subject);
      const message = { kind: "turn", list: [1, "é", null], nested: { empty: {} } };
      expect(await settle(subject, router.send(RUN, message))).toEqual({ runId: RUN, message });
      expect(handler.delivered).toMatchObject([{ runId: RUN, message }]);
      expect(handler.delivered[0]?.options?.isRepeated).not.toBe(true);
    });

    test("a handler gets with its first message that a run is new", async () => {
      const { router, handler } = await serveOne(subject);
      await settle(subject, router.send(RUN, "first", { isNew: true }));
      await settle(subject, router.send(RUN, "second"));
      expect(handler.delivered.map(({ options }) => options?.isNew === true)).toEqual([true, false]);
    });

    test("the error of a handler reaches the sender with its code, message and details", async () => {
      const { router, handler } = await serveOne(subject);
      handler.work = () => {
        throw new AgentError("conflict", "the run is busy", { hint: "wait", facts: { at: 3 } });
      };
      const sent = settle(subject, router.send(RUN, null));
      await expect(sent).rejects.toMatchObject({
        code: "conflict",
        message: "the run is busy",
        details: { hint: "wait", facts: { at: 3 } },
      });
      await expect(sent).rejects.toBeInstanceOf(AgentError);
    });

    test("any other error of a handler is internal, with that error as its cause", async () => {
      const { router, handler } = await serveOne(subject);
      const cause = new TypeError("a fault");
      handler.work = () => {
        throw cause;
      };
      const sent = settle(subject, router.send(RUN, null));
      await expect(sent).rejects.toMatchObject({ code: "internal", cause });
      await expect(sent).rejects.toBeInstanceOf(AgentError);
    });

    test("messages that are sent at once are each delivered once, with their own replies", async () => {
      const { router, handler } = await serveOne(subject);
      const numbers = Array.from({ length: 50 }, (_, index) => index);
      const replies = numbers.map((number) => router.send(asRunId(`run-${number % 7}`), number));
      const wanted = numbers.map((number) => ({ runId: `run-${number % 7}`, message: number }));
      expect(await settle(subject, Promise.all(replies))).toEqual(wanted);
      expect(handler.delivered).toHaveLength(50);
    });

    test("a handler may send a message while it works on one", async () => {
      const { router, handler } = await serveOne(subject);
      handler.work = (run) => (run === RUN ? router.send(asRunId("other"), "inner") : undefined);
      await settle(subject, router.send(RUN, "outer"));
      expect(handler.delivered.map(({ message }) => message)).toEqual(["outer", "inner"]);
    });

    test("a registration ends after its messages are answered, and gets no new ones", async () => {
      const { router, handler, stop } = await serveOne(subject);
      const { promise: work, resolve } = Promise.withResolvers<void>();
      handler.work = () => work;
      const sent = router.send(RUN, "before");
      await until(subject, () => handler.delivered.length === 1);
      let isStopped = false;
      const stopping = stop().then(() => {
        isStopped = true;
      });
      await expect(settle(subject, router.send(RUN, "after"))).rejects.toMatchObject({ code: "unavailable" });
      expect(isStopped).toBe(false);
      resolve();
      await settle(subject, stopping);
      expect(await sent).toEqual({ runId: RUN, message: "before" });
      expect(handler.delivered).toHaveLength(1);
    });

    test("one node is ready, does all tasks, and continues all runs", async () => {
      const { router } = await serveOne(subject);
      await until(subject, () => router.health().ready && router.leads("clean-up"));
      expect(await router.isMine(RUN)).toBe(true);
      expect(router.members().every(({ isSelf, isAlive }) => isSelf && isAlive)).toBe(true);
    });
  });
}
