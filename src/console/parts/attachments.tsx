import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { toAgentError } from "../../errors.ts";
import { useConsole } from "../app/context.ts";
import { sizeText } from "./size.ts";

/** A file that goes with the next message. It is uploaded when it is chosen, so that sending again sends the same. */
interface Attachment {
  readonly file: File;
  /** Absent until it is uploaded. */
  readonly id?: string;
}

/** The files of the next message. */
export interface Attachments {
  readonly files: readonly Attachment[];
  /** Those that are uploaded. */
  readonly ids: readonly string[];
  readonly isUploading: boolean;
  add(files: Iterable<File>): void;
  remove(file: File): void;
  clear(): void;
}

export function useAttachments(): Attachments {
  const { server, say } = useConsole();
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const remove = (file: File): void => setFiles((all) => all.filter((one) => one.file !== file));
  const upload = async (file: File): Promise<void> => {
    try {
      const { json } = await server.ask("POST", "/artifacts", {
        query: { name: file.name },
        raw: file,
        headers: { "content-type": file.type || "application/octet-stream" },
        timeoutMs: UPLOAD_MS,
      });
      const { artifact_id: id } = json as { readonly artifact_id: string };
      setFiles((all) => all.map((one) => (one.file === file ? { file, id } : one)));
    } catch (thrown) {
      remove(file);
      say(`${file.name} was not uploaded: ${toAgentError(thrown).message}`);
    }
  };
  return {
    files,
    ids: files.flatMap(({ id }) => id ?? []),
    isUploading: files.some(({ id }) => id === undefined),
    add(added) {
      for (const file of added) {
        setFiles((all) => [...all, { file }]);
        void upload(file);
      }
    },
    remove,
    clear: () => setFiles([]),
  };
}

const UPLOAD_MS = 600_000;

/** The files that go with the next message, and the button that chooses more. */
export function AttachmentPicker({
  files,
  add,
  remove,
}: Pick<Attachments, "files" | "add" | "remove">): VNode {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      {files.length > 0 && (
        <ul class="attachments" aria-label="Files of the message">
          {files.map(({ file, id }) => (
            <li key={file}>
              <span class="one-line" dir="auto">
                {file.name}
              </span>
              <span class="second">{id === undefined ? "is uploaded…" : sizeText(file.size)}</span>
              <button
                type="button"
                class="button quiet small"
                aria-label={`Leave ${file.name} away`}
                onClick={() => remove(file)}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={({ currentTarget }) => {
          add(currentTarget.files ?? []);
          // The same file can be chosen again.
          currentTarget.value = "";
        }}
      />
      <button type="button" class="button" onClick={() => field.current?.click()}>
        Attach
      </button>
    </>
  );
}
