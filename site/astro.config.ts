import starlight from "@astrojs/starlight";
import { defineConfig, passthroughImageService } from "astro/config";
import { readSidebar } from "./content.ts";

/** The site of the documents. It loads nothing from another origin: no fonts, no scripts, no images. */
export default defineConfig({
  // A page at /docs/ of another site: SITE_BASE=/docs/
  base: process.env["SITE_BASE"] ?? "/",
  trailingSlash: "always",
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: "troupe",
      description: "An actor runtime for AI agents",
      favicon: "/favicon.svg",
      customCss: ["./src/site.css"],
      sidebar: readSidebar(),
      lastUpdated: false,
      credits: false,
      // Shown on the pages themselves; Starlight would ask for the address of the repository.
      editLink: {},
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
    }),
  ],
});
