import { Fragment } from "preact";
import type { VNode } from "preact";

interface LinksProps {
  readonly names: readonly string[];
  /** The address of a name. */
  toHref(name: string): string;
}

/** Links with commas between them. */
export function Links({ names, toHref }: LinksProps): VNode {
  return (
    <>
      {names.map((name, at) => (
        <Fragment key={name}>
          {at > 0 && ", "}
          <a href={toHref(name)}>{name}</a>
        </Fragment>
      ))}
    </>
  );
}
