import type { VNode } from "preact";
import type { Pages } from "../data/pages.ts";
import { exactTime } from "./time.ts";

interface SearchedToProps {
  readonly pages: Pick<Pages<unknown>, "searchedTo" | "goOn">;
  readonly isOldestFirst: boolean;
}

/** How far a long list has been searched without a hit, and the button that goes on. */
export function SearchedTo({ pages: { searchedTo, goOn }, isOldestFirst }: SearchedToProps): VNode | null {
  if (searchedTo === undefined) return null;
  return (
    <p class="searched second" role="status">
      Searched {isOldestFirst ? "up" : "back"} to {exactTime(searchedTo)}.
      <button type="button" class="button small" onClick={goOn}>
        Go on
      </button>
    </p>
  );
}
