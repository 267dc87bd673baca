import "../styles/letters.css";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { DeadLetter } from "../../protocol/answers/dead-letter.ts";
import { useConsole } from "../app/context.ts";
import { dismissLetter, sendLetterAgain } from "../data/requests.ts";
import { useResource } from "../data/resource.ts";
import { ActButton } from "../parts/act-button.tsx";
import { useInterval } from "../parts/hooks/interval.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import { State } from "../parts/state.tsx";
import { exactTime, momentTime } from "../parts/time.ts";

/** What actors, or one of them, were told without effect, with what an operator can do about it. */
export function DeadLetters({ runId }: { readonly runId?: string }): VNode {
  const { server } = useConsole();
  const { value, error, reload } = useResource(`${server.url} letters ${runId ?? ""}`, async (signal) => {
    const { json } = await server.ask("GET", "/dead-letters", { signal });
    const letters = json as readonly DeadLetter[];
    return runId === undefined ? letters : letters.filter((letter) => letter.run_id === runId);
  });
  useInterval(reload, AGAIN_MS);
  // Only operators see those of all owners.
  if (error?.code === "forbidden") return <></>;
  return (
    <section class="dead-letters" aria-label="Dead letters">
      <div class="heading">
        <h2>Dead letters</h2>
        {value !== undefined && <span class="second number">{toCount(value)}</span>}
      </div>
      {runId === undefined && (
        <p class="second">What actors were told without effect: it was refused, or its turn has failed.</p>
      )}
      {error !== undefined && value === undefined && <RefusalNote error={error} />}
      {value !== undefined && value.length > 0 && (
        <ul class="letters">
          {value.slice(0, SHOWN).map((letter) => (
            <Letter key={`${letter.run_id} ${letter.request_id}`} letter={letter} onDone={reload} />
          ))}
        </ul>
      )}
    </section>
  );
}

const AGAIN_MS = 10_000;

/** How many are on the page; the others come when these are gone. */
const SHOWN = 100;

function Letter({ letter, onDone }: { readonly letter: DeadLetter; readonly onDone: () => void }): VNode {
  const { server, say } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const {
    run_id: runId,
    request_id: requestId,
    agent,
    key,
    operation,
    kind,
    error,
    at,
    input,
    sender,
  } = letter;
  const act = async (send: typeof dismissLetter): Promise<void> => {
    setBusy(true);
    try {
      await send(server, runId, requestId);
      onDone();
    } catch (thrown) {
      say(toAgentError(thrown).message);
    }
    setBusy(false);
  };
  return (
    <li class="letter">
      <div class="about">
        <p class="who">
          <State name="failed" word={kind} />
          <a href={`#/runs/${encodeURIComponent(runId)}`}>
            {agent}
            {key !== undefined && ` ${key}`}: {operation}
          </a>
          <time class="second" title={exactTime(at)}>
            {momentTime(at)}
          </time>
          {sender?.agent !== undefined && <span class="second">from {sender.agent}</span>}
        </p>
        {error !== undefined && (
          <p dir="auto">
            {error.code}: {error.message}
          </p>
        )}
        <code class="one-line second">{JSON.stringify(input)}</code>
      </div>
      <div class="actions">
        <ActButton
          key={`again ${requestId}`}
          class="button"
          disabled={isBusy}
          title="Sends it as a new request, once"
          onAct={() => void act(sendLetterAgain)}
        >
          Send again
        </ActButton>
        <ActButton
          key={`dismiss ${requestId}`}
          class="button"
          disabled={isBusy}
          title="Removes it from this list"
          onAct={() => void act(dismissLetter)}
        >
          Dismiss
        </ActButton>
      </div>
    </li>
  );
}

function toCount({ length }: readonly unknown[]): string {
  if (length === 0) return "none";
  return length > SHOWN ? `the newest ${SHOWN} of ${length}` : String(length);
}
