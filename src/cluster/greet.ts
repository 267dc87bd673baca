import { AgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import type { Member } from "../ports/router.ts";
import type { Json } from "../protocol/json.ts";
import type { Membership } from "./membership.ts";
import type { Transport } from "./transport.ts";

/** The longest wait for the answer to a greeting, in milliseconds; longer than it takes to judge a node dead. */
const GREET_MS = 3_000;

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
    const away = Promise.withResolvers<void>();
    const abort = new AbortController();
    const stopTimer = environment.timer(GREET_MS, () => end());
    const stopWaiting = membership.onceGone(node, () => end());
    function end(): void {
      abort.abort();
      away.resolve();
    }
    try {
      // The earlier process with this address has just ended, or is another node.
      if (url === transport.url) await away.promise;
      else await transport.send(url, GREETING, abort.signal);
    } catch (error) {
      if (error instanceof AgentError && error.code === "unauthorized") throw error;
      // One that has no new beat is dead. A node that has just joined judges that only later.
      if (membership.isSound(node)) fault(`node ${node} does not answer at ${url}`, error);
    } finally {
      stopTimer();
      stopWaiting();
    }
    if (url === transport.url && membership.isAlive(node))
      throw new AgentError("conflict", `another node has the address ${url} too`, {
        hint: "give each node an address of its own",
      });
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

function livingOthers({ members }: Membership): readonly Member[] {
  return members.filter(({ isSelf, isAlive }) => !isSelf && isAlive);
}
