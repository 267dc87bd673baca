import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import type { HeldTurn } from "../../protocol/answers/status.ts";
import type { RunView, TurnView } from "../../view/run-view.ts";
import { useConsole } from "../app/context.ts";
import { sendEnd, sendRetry } from "../data/requests.ts";
import { ActButton } from "../parts/act-button.tsx";
import { refusalText } from "../parts/refusal.tsx";
import { clockTime, exactTime, momentTime } from "../parts/time.ts";
import { forkAt, forkBefore, forkPointOf } from "./fork.ts";

interface HeldTurnProps {
  readonly turn: TurnView;
  readonly held: HeldTurn;
  readonly view: RunView;
  readonly isPast: boolean;
  /** Set where a person has chosen the turn: it takes the focus from any other element. */
  readonly isChosen?: boolean;
}

/** Why a turn is held, where its code differs from its log, and since when, with what a person can do about it. */
export function HeldTurnBox({ turn, held, view, isPast, isChosen = false }: HeldTurnProps): VNode {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isChosen) box.current?.focus({ preventScroll: true });
  }, [isChosen]);
  const { code, message, scope, expected, found, at, since } = held;
  return (
    <section class="held-turn" ref={box} tabIndex={-1} aria-label="Held turn">
      <p class="who">
        <span class="state held">
          <span aria-hidden="true">‖ </span>
          {turn.agent} is held: {code}
        </span>
        <time class="second" title={exactTime(since)}>
          since {momentTime(since)}
        </time>
      </p>
      {found === undefined && <p dir="auto">{message}</p>}
      <dl class="facts">
        <Fact name="Call">{scope}</Fact>
        <Fact name="In the log">{expected}</Fact>
        <Fact name="In the code">{found}</Fact>
        <Fact name="File">{at}</Fact>
      </dl>
      {isPast ? (
        <p class="second">What happened later is behind this event.</p>
      ) : (
        <HeldActions turn={turn} view={view} />
      )}
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): VNode {
  if (children === undefined) return <></>;
  return (
    <>
      <dt>{name}</dt>
      <dd class="mono" dir="auto">
        {children}
      </dd>
    </>
  );
}

/** What a person can do about a turn that is held. */
function HeldActions({ turn, view }: { readonly turn: TurnView; readonly view: RunView }): VNode {
  const { server, go } = useConsole();
  const [isBusy, setBusy] = useState(false);
  const [note, setNote] = useState<string>();
  const { runId } = view;
  const { requestId } = turn;
  const point = forkPointOf(view);
  const wait = view.waits.findLast((asked) => asked.requestId === requestId);

  const act = async (send: () => Promise<string | undefined>): Promise<void> => {
    setBusy(true);
    setNote(undefined);
    try {
      setNote(await send());
    } catch (thrown) {
      setNote(refusalText(toAgentError(thrown)));
    }
    setBusy(false);
  };
  const retry = async (): Promise<string> => {
    await sendRetry(server, runId);
    return `Tried at ${clockTime(Date.now())}. It stays held while no code that is served fits.`;
  };
  const end = async (): Promise<undefined> => {
    await sendEnd(server, runId);
  };
  const show = (forked: string): void => go({ name: "run", runId: forked, tab: "chat", query: {} });
  const forkAtWait = async (): Promise<undefined> => {
    if (wait !== undefined) show(await forkAt(server, runId, wait.waitId));
  };
  const fork = async (): Promise<undefined> => {
    if (point !== undefined) show(await forkBefore(server, runId, point));
  };
  return (
    <>
      <p class="second">
        It takes answers, keeps them, and continues by itself when code is served that fits.
      </p>
      <div class="actions">
        <ActButton
          key={`retry ${requestId}`}
          class="button primary"
          disabled={isBusy}
          title="Tries the turn with the code that is served now"
          onAct={() => void act(retry)}
        >
          Try again
        </ActButton>
        <ActButton
          key={`end ${requestId}`}
          class="button"
          disabled={isBusy}
          title="Ends the turn for good; its caller gets the reason as its error"
          onAct={() => void act(end)}
        >
          End with its error
        </ActButton>
        {wait !== undefined && (
          <ActButton
            key={`fork at ${requestId}`}
            class="button"
            disabled={isBusy}
            title="Creates a run with what this turn has done before its newest question, which the code that is served asks anew"
            onAct={() => void act(forkAtWait)}
          >
            Fork at its question
          </ActButton>
        )}
        {point !== undefined && (
          <ActButton
            key={`fork ${requestId}`}
            class="button"
            disabled={isBusy}
            title="Creates a run with the history before this turn, and its input to be sent to the new code"
            onAct={() => void act(fork)}
          >
            Fork before it
          </ActButton>
        )}
      </div>
      <div role="status">{note !== undefined && <p class="note">{note}</p>}</div>
    </>
  );
}
