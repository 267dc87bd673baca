// The agents are behind the address of the page, so a browser asks no other origin.
const agents = {
  target: process.env["TROUPE_URL"] ?? "http://127.0.0.1:4100",
  changeOrigin: true,
  rewrite: (path) => path.replace(/^\/agents/, ""),
};

export default {
  oxc: { jsx: { runtime: "automatic" } },
  server: { proxy: { "/agents": agents } },
  preview: { proxy: { "/agents": agents } },
};
