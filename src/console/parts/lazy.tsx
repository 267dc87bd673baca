import type { ComponentType, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";

/** A part of the page that is loaded when it is shown first. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props): VNode {
    const [Part, setPart] = useState(() => loaded);
    const [isMissing, setMissing] = useState(false);
    useEffect(() => {
      if (Part !== undefined) return;
      load().then(
        (part) => {
          loaded = part;
          setPart(() => part);
        },
        () => setMissing(true),
      );
    }, [Part]);
    if (isMissing) {
      return <p class="note failed">This part of the page could not be loaded. Load the page again.</p>;
    }
    return Part === undefined ? <div aria-busy="true" /> : <Part {...props} />;
  };
}
