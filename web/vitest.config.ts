import { defineConfig } from "vitest/config";

// The logic that needs no page. Pages are tested in a real browser: tests/e2e of the repository.
export default defineConfig({
  test: { include: ["tests/**/*.test.ts"], env: { TZ: "America/New_York" } },
});
