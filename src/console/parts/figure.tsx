import type { ComponentChildren, VNode } from "preact";

interface FigureProps {
  readonly name: string;
  readonly note?: string | undefined;
  readonly href?: string;
  readonly tone?: string | undefined;
  readonly children: ComponentChildren;
}

/** A number with its name, in a row of them. */
export function Figure({ name, note, href, tone, children }: FigureProps): VNode {
  return (
    <div class="figure">
      <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
      <dd class={`number ${tone ?? ""}`}>{children}</dd>
      {note !== undefined && <dd class="second note-line">{note}</dd>}
    </div>
  );
}
