import type { FileView } from "../../../view/run-view.ts";
import type { ContentValue } from "../objects.ts";

/** A file of an agent as content, by its media type. */
export function toFileContent({ url, name, artifactId, mimeType }: FileView): ContentValue {
  const [kind = "", subtype = ""] = (mimeType.split(";", 1)[0] ?? "").trim().toLowerCase().split("/");
  switch (kind) {
    case "image":
      return { type: "image", image_url: url };
    case "video":
      return { type: "video", video_url: url };
    case "audio":
      return { type: "audio", data: url, format: subtype };
    default:
      return { type: "file", file_url: url, file_id: artifactId, filename: name, file_data: null };
  }
}
