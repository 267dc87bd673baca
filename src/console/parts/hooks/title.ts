import { useEffect } from "preact/hooks";

/** What the title of the page names besides the product: how much waits for the person, and the place. */
const shown = { count: "0", place: "" };

/** Names a place in the title of the tab and in the history of the browser. */
export function useTitle(place: string): void {
  useEffect(() => {
    shown.place = place;
    write();
    return () => {
      shown.place = "";
      write();
    };
  }, [place]);
}

/** Shows in the title how much waits for the person. */
export function useCountInTitle(count: string): void {
  useEffect(() => {
    shown.count = count;
    write();
  }, [count]);
}

function write(): void {
  const { count, place } = shown;
  document.title = `${count === "0" ? "" : `(${count}) `}${place === "" ? "" : `${place} · `}troupe`;
}
