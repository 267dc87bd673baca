import type { ComponentChildren, VNode } from "preact";

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** A page with nothing to show: why, and what to do next. */
export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <section class="empty">
      <h1 tabIndex={-1}>{title}</h1>
      {children}
    </section>
  );
}
