import { AgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import type { Member } from "../ports/router.ts";
import type { Json } from "../protocol/json.ts";
import type { Membership } from "./membership.ts";
import type { Transport } from "./transport.ts";

/** The longest wait for the answer to a greeting, in milliseconds; a node that has just died is dead before. */
const GREET_MS = 3_000;

/** The longest wait for the answers of the others, in milliseconds: the time between two beats. */
const TELL_MS = 300;

/** A message that says nothing. Its receiver reads the table of nodes, which has news of the sender. */
const GREETING: Json = { hello: true };

/** Whether a message of another node is only a greeting. */
export function isGreeting(message: Json): boolean {
  return JSON.stringify(message) === JSON.stringify(GREETING);
}

/**
 * Sends a first message to each living node: a node with another secret, or with the address of another node, fails
 * when it starts and not at a message that matters.
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
      if (membership.isAlive(node)) fault(`node ${node} does not answer at ${url}`, error);
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

/** Has the other nodes read the table of nodes at once. One that this does not reach reads it with its next beat. */
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
