import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RunView } from "../../view/run-view.ts";
import { chatItems } from "./chat-items.ts";
import { Composer } from "./composer.tsx";
import { ChatMessage } from "./message.tsx";
import { TurnSummary } from "./turn-summary.tsx";

interface ChatProps {
  readonly view: RunView;
  /** The same with all actors. */
  readonly whole: RunView;
  readonly runId: string;
  readonly agent: string;
  /** Set if the view is not the newest one: nothing can be sent then. */
  readonly isPast: boolean;
}

/** The conversation of a run. */
export function Chat({ view, whole, runId, agent, isPast }: ChatProps): VNode {
  const items = useMemo(() => chatItems(view), [view]);
  const [most, setMost] = useState(PIECE);
  const list = useFollowedEnd(view);
  const isEmpty = items.length === 0;
  return (
    <section class="chat" aria-label="Chat">
      <div class="chat-log" ref={list} tabIndex={0} role="log" aria-label="Conversation">
        <div class="chat-lines">
          {items.length > most && (
            <button type="button" class="button quiet" onClick={() => setMost(most + PIECE)}>
              {items.length - most} earlier
            </button>
          )}
          {items
            .slice(-most)
            .map((item) =>
              item.kind === "end" ? (
                <TurnSummary key={`end ${item.id}`} turn={item.turn} view={view} />
              ) : (
                <ChatMessage key={item.id} message={item.message} view={view} isPast={isPast} />
              ),
            )}
          {isEmpty && <p class="second">Nothing was said yet.</p>}
        </div>
      </div>
      <Composer view={whole} runId={runId} agent={agent} isPast={isPast} />
    </section>
  );
}

const PIECE = 200;

/**
 * Keeps the end of the list in sight while it grows, unless the person has scrolled up. While a question is open the list
 * stays, because the question would move under the hand.
 */
function useFollowedEnd(view: RunView): { readonly current: HTMLDivElement | null } {
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const hadQuestion = useRef(false);
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    const note = (): void => {
      isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    };
    element.addEventListener("scroll", note, { passive: true });
    return () => element.removeEventListener("scroll", note);
  }, []);
  useLayoutEffect(() => {
    const element = list.current;
    if (element !== null && isAtEnd.current && !hadQuestion.current) element.scrollTop = element.scrollHeight;
    hadQuestion.current = view.waits.some(({ state }) => state === "open");
  }, [view]);
  return list;
}

const NEAR_PX = 48;
