import { AgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import type { Member } from "../ports/router.ts";
import type { Json } from "../protocol/json.ts";
import type { Membership } from "./membership.ts";
import type { Transport } from "./transport.ts";

/** The longest wait for the answer to a greeting, in milliseconds; longer than it takes to judge a node dead. */
const GREET_MS = 3_000;

/** The longest wait for the end of an earlier process with the address of this node, in milliseconds. */
const OUTLIVE_MS = 30_000;

/** The longest wait for the answers of the others, in milliseconds: the time between two beats. */
const TELL_MS = 300;

/** An empty message. Its receiver reads the table of nodes, because the row of the sender has changed. */
const GREETING: Json = { hello: true };

/** Whether a message of another node is only a greeting. */
export function isGreeting(message: Json): boolean {
  return typeof message === "object" && message !== null && "hello" in message;
}

/**
 * Sends a first message to each living node, so that a node with another secret, or with the address of another node,
 * fails at its start and not at a message of a run.
 */
export async function greet(
  membership: Membership,
  transport: Transport,
  environment: Environment,
  fault: (message: string, thrown: unknown) => void,
): Promise<void> {
  const greetOne = async ({ node, url }: Member): Promise<void> => {
    if (url === transport.url) {
      if (!(await outlive({ node, url }, membership, environment)))
        fault(
          `another process may use the address ${url}`,
          new Error(`the table of nodes answers too slowly to tell whether node ${node} has ended`),
        );
      return;
    }
    const abort = new AbortController();
    const stopTimer = environment.timer(GREET_MS, () => abort.abort());
    const stopWaiting = membership.onceGone(node, () => abort.abort());
    try {
      await transport.send(url, GREETING, abort.signal);
    } catch (error) {
      if (error instanceof AgentError && error.code === "unauthorized") throw error;
      // One that has no new beat is dead. A node that has just joined judges that only later.
      if (membership.isSound(node)) fault(`node ${node} does not answer at ${url}`, error);
    } finally {
      stopTimer();
      stopWaiting();
    }
  };
  await Promise.all(livingOthers(membership).map(greetOne));
}

/** Makes the other nodes read the table of nodes at once. A node that it does not reach reads it at its next beat. */
export async function tellOthers(
  membership: Membership,
  transport: Transport,
  environment: Environment,
): Promise<void> {
  const abort = new AbortController();
  const stopTimer = environment.timer(TELL_MS, () => abort.abort());
  const tell = ({ url }: Member): Promise<Json> => transport.send(url, GREETING, abort.signal);
  await Promise.allSettled(livingOthers(membership).map(tell));
  stopTimer();
}

/**
 * Waits until the earlier process with the address of this node is judged dead, and throws if it is a node that still sends
 * beats. Returns false if this node cannot tell in time, because the table of nodes answers too slowly.
 */
async function outlive(
  { node, url }: Pick<Member, "node" | "url">,
  membership: Membership,
  environment: Environment,
): Promise<boolean> {
  const untilMs = environment.monotonic() + OUTLIVE_MS;
  for (let waitMs = GREET_MS; environment.monotonic() < untilMs; waitMs = TELL_MS) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stopTimer = environment.timer(waitMs, resolve);
    const stopWaiting = membership.onceGone(node, resolve);
    await promise;
    stopTimer();
    stopWaiting();
    if (!membership.isAlive(node) || membership.self.state !== "active") return true;
    if (membership.hasBeaten(node))
      throw new AgentError("conflict", `another node has the address ${url} too`, {
        hint: "give each node an address of its own",
      });
  }
  return false;
}

function livingOthers({ members }: Membership): readonly Member[] {
  return members.filter(({ isSelf, isAlive }) => !isSelf && isAlive);
}
