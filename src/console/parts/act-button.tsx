import type { ComponentChildren, VNode } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ConsoleContext } from "../app/context.ts";

interface ActButtonProps {
  readonly children: ComponentChildren;
  readonly class: string;
  readonly disabled?: boolean;
  readonly title?: string;
  readonly "aria-current"?: "true" | undefined;
  /** Absent for the button that submits its form. */
  readonly onAct?: () => void;
}

/**
 * A button that acts: it answers, sends, stops. It takes no click, Enter or Space before it has been shown for 500 ms, and
 * no click before it has been in its place for as long, because a hand that is quicker has aimed at what was there
 * before. It needs a key that names what it acts on. A form must be submitted through it: see `pressSubmit`.
 */
export function ActButton({ onAct, disabled = false, children, ...rest }: ActButtonProps): VNode {
  // The page that asks for the token has no context.
  const inAll = useContext(ConsoleContext);
  const button = useRef<HTMLButtonElement>(null);
  const [isSettled, setSettled] = useState(false);
  useLayoutEffect(() => {
    if (disabled || button.current === null) return undefined;
    return watch(button.current, setSettled);
  }, [disabled]);
  return (
    <button
      {...rest}
      type={onAct === undefined ? "submit" : "button"}
      ref={button}
      disabled={disabled}
      aria-disabled={isSettled || disabled ? undefined : "true"}
      onClick={(event) => {
        const fault = faultOf(event);
        if (fault === undefined) return onAct?.();
        event.preventDefault();
        return inAll?.say(fault);
      }}
    >
      {children}
    </button>
  );
}

/** Submits the form of a field as its button would, for a key that is not one that submits by itself. */
export function pressSubmit(field: HTMLElement): void {
  field.closest("form")?.querySelector<HTMLElement>("[type=submit]")?.click();
}

/** A button on the page. Times are in milliseconds since the page was loaded. */
interface Watched {
  /** When it was painted first; absent before. */
  shownAt?: number;
  /** Where it is, and since when. */
  place?: DOMRect;
  placedAt?: number;
  timer?: ReturnType<typeof setTimeout>;
  readonly onSettled: (isSettled: boolean) => void;
}

const watched = new Map<Element, Watched>();
/** Every change of the page can move a button. */
const changes = new MutationObserver(measureLater);
let frame = 0;

/** Watches where a button is until the returned function is called. */
function watch(button: Element, onSettled: (isSettled: boolean) => void): () => void {
  if (watched.size === 0) {
    changes.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    addEventListener("resize", measureLater);
    addEventListener("scroll", noteScroll, { capture: true, passive: true });
  }
  watched.set(button, { onSettled });
  measureLater();
  return () => {
    clearTimeout(watched.get(button)?.timer);
    watched.delete(button);
    onSettled(false);
    if (watched.size > 0) return;
    changes.disconnect();
    removeEventListener("resize", measureLater);
    removeEventListener("scroll", noteScroll, { capture: true });
  };
}

/** Measures when the change is painted; a hidden page paints nothing until it is shown. */
function measureLater(): void {
  if (frame === 0) frame = requestAnimationFrame(measure);
}

function measure(): void {
  cancelAnimationFrame(frame);
  frame = 0;
  const now = performance.now();
  for (const [button, seen] of watched) {
    const place = button.getBoundingClientRect();
    if (seen.place?.x === place.x && seen.place.y === place.y) continue;
    seen.shownAt ??= now;
    seen.place = place;
    seen.placedAt = now;
    seen.onSettled(false);
    clearTimeout(seen.timer);
    seen.timer = setTimeout(() => seen.onSettled(true), SETTLE_MS);
  }
}

/** What the person moves by scrolling has not moved under the hand. The page scrolls together with a change. */
function noteScroll(): void {
  if (frame !== 0) return measure();
  for (const [button, seen] of watched) {
    if (seen.place !== undefined) seen.place = button.getBoundingClientRect();
  }
}

/** Why a press of a button is not taken; `undefined` if it is. */
function faultOf({ currentTarget, timeStamp, detail }: MouseEvent): string | undefined {
  measure();
  const { shownAt = timeStamp, placedAt = timeStamp } = watched.get(currentTarget as Element) ?? {};
  if (timeStamp - shownAt < SETTLE_MS)
    return "Nothing was done: this has only just appeared. Press it again.";
  // A key has no place; its clicks have no detail.
  if (detail === 0 || timeStamp - placedAt >= SETTLE_MS) return undefined;
  return "Nothing was done: this has only just moved here. Press it again.";
}

const SETTLE_MS = 500;
