import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// The package's own folder; the server reads manifest.json there and makes the pages (dashboard/).
const FILES = "../src/kurz/dashboard/files";
// Below this, a header costs more than compression saves.
const WORTH_COMPRESSING = 1024;

/** Writes each file a second and a third time, compressed as well as can be. */
function precompress(): Plugin {
  return {
    name: "precompress",
    closeBundle() {
      const folder = join(import.meta.dirname, FILES, "assets");
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        const bytes = readFileSync(path);
        if (!/\.(js|css|svg)$/.test(name) || bytes.length < WORTH_COMPRESSING) continue;
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), precompress()],
  publicDir: false,
  build: {
    outDir: FILES,
    emptyOutDir: true,
    manifest: "manifest.json",
    target: "es2023",
    // Pages may load no data: scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { early: "src/early.ts", home: "src/home/main.tsx", app: "src/app/main.tsx" },
    },
  },
});
