import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { lazy } from "../parts/lazy.tsx";

const DialogPart = lazy(async () => (await import("./data-set-dialog.tsx")).DataSetDialog);

interface AddToDataSetProps {
  readonly class: string;
  readonly runIds: readonly string[];
  readonly known: readonly string[];
  readonly offered: string;
  /** Runs when they are in a data set. */
  onDone?(): void;
}

/** A button that adds runs to a data set of the project. */
export function AddToDataSet({ onDone, ...props }: AddToDataSetProps): VNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={props.class} onClick={() => setOpen(true)}>
        Add to data set
      </button>
      {isOpen && (
        <DialogPart
          {...props}
          onClose={(isDone) => {
            setOpen(false);
            if (isDone) onDone?.();
          }}
        />
      )}
    </>
  );
}
