import { defineConfig } from 'vitest/config'

// The tests of one agent that `npm run agents` runs; no ordinary run has them.

export default defineConfig({
  test: {
    name: 'agents',
    root: `${import.meta.dirname}/../..`,
    include: ['test/agents/*.test.ts'],
    globalSetup: 'test/temporary-folder.ts',
    testTimeout: 600_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
})
