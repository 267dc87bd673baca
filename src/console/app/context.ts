import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { PageServer } from "../data/page-server.ts";
import type { ConsolePlace } from "../places/place.ts";

/** What every part of the page can reach. */
export interface Console {
  readonly server: PageServer;
  readonly place: ConsolePlace;
  /** Opens another place; `replace` leaves no entry in the history. */
  go(place: ConsolePlace, options?: { readonly replace?: boolean }): void;
  /** Shows a sentence for some seconds. */
  say(sentence: string): void;
}

export const ConsoleContext = createContext<Console | undefined>(undefined);

export function useConsole(): Console {
  const found = useContext(ConsoleContext);
  if (found === undefined) throw new Error("The part is outside of the page.");
  return found;
}
