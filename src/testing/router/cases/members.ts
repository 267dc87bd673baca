import { describe, expect, test } from "vitest";
import { asRunId } from "../../event-log/subject.ts";
import { registerHandler, settle, until } from "../subject.ts";
import type { RouterNode, RouterSubject } from "../subject.ts";
import { claimedBy, serveNodes } from "../several-nodes.ts";

const RUN = asRunId("run");

/** Nodes that join and leave; only for routers of several nodes. */
export function testMembers(subject: RouterSubject): void {
  const join = subject.join?.bind(subject);
  if (join === undefined) return;

  describe("members", () => {
    test("each node knows all of them, itself, and what they serve", async () => {
      const nodes = await serveNodes(subject, 3);
      const ids = nodes.map(({ log }) => log.node).toSorted();
      for (const { router, log } of nodes) {
        const members = router.members();
        expect(members.map(({ node }) => node).toSorted()).toEqual(ids);
        expect(members.filter(({ isSelf }) => isSelf)).toMatchObject([{ node: log.node }]);
        for (const member of members)
          expect(member).toMatchObject({ state: "active", isAlive: true, agents: { echo: {} } });
      }
    });

    test("a node that drains takes no new run, and answers for those in its memory", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await claimedBy(a, "held");
      a.handler.held.add(asRunId("held"));
      await settle(subject, a.router.drain());
      expect(a.router.health()).toMatchObject({ ready: false });
      await until(subject, () => stateOf(b, a) === "draining");
      await settle(subject, a.router.send(RUN, "new"));
      expect(b.handler.delivered).toMatchObject([{ runId: RUN }]);
      await settle(subject, b.router.send(asRunId("held"), "known"));
      expect(a.handler.delivered).toMatchObject([{ runId: "held" }]);
      expect(await a.router.isMine(RUN)).toBe(false);
      await until(subject, () => b.router.leads("any"));
      expect(a.router.leads("any")).toBe(false);
    });

    test("a node that leaves gets no messages, and another one looks for what it has left", async () => {
      const [a, b] = await serveNodes(subject, 2);
      await claimedBy(a, "run");
      const looks = b.handler.lookedFor.length;
      await settle(subject, a.stop());
      await until(subject, () =>
        b.router.members().every(({ node, isAlive }) => node !== a.log.node || !isAlive),
      );
      await until(subject, () => b.handler.lookedFor.slice(looks).some(({ hasChanged }) => hasChanged));
      await until(subject, () => b.router.isMine(RUN));
      expect(await settle(subject, b.router.send(RUN, "hello"))).toMatchObject({ message: "hello" });
      expect(b.handler.delivered).toHaveLength(1);
    });

    test("a node that dies is judged dead, and its runs belong to the others", async ({ skip }) => {
      const [a, b] = await serveNodes(subject, 2);
      const { kill = (): never => skip("the nodes of this router cannot be killed") } = a;
      await claimedBy(a, "run");
      const looks = b.handler.lookedFor.length;
      await kill();
      // A message that waits for the dead node reaches the other one.
      expect(await settle(subject, b.router.send(RUN, "hello"))).toMatchObject({ message: "hello" });
      expect(b.handler.delivered).toHaveLength(1);
      await until(subject, () => b.handler.lookedFor.slice(looks).some(({ hasChanged }) => hasChanged));
      await until(subject, () => b.router.isMine(RUN));
    });

    test("a node that joins is known to the others, which look again for what is theirs", async () => {
      const [a] = await serveNodes(subject, 2);
      const looks = a.handler.lookedFor.length;
      const joined = await registerHandler(subject, await join(a));
      await until(subject, () => a.handler.lookedFor.slice(looks).some(({ hasChanged }) => hasChanged));
      expect(stateOf(a, joined)).toBe("active");
      expect(joined.router.members()).toHaveLength(3);
    });
  });
}

/** The state of a node as another one knows it. */
function stateOf(observer: RouterNode, { log }: RouterNode): string | undefined {
  return observer.router.members().find(({ node }) => node === log?.node)?.state;
}
