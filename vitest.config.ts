import { defineConfig } from 'vitest/config'

// Three projects, one after the other: quick tests, those that start real processes, those that kill them. The limits of time only
// end what hangs: a test that is right on an idle machine is right on a busy one.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          globalSetup: 'test/temporary-folder.ts',
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
          include: ['src/**/*.test.ts', 'test/*.test.ts', 'test/attack/**/*.test.ts', 'sim/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        test: {
          name: 'e2e',
          globalSetup: 'test/temporary-folder.ts',
          sequence: { groupOrder: 1 },
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'crash',
          globalSetup: 'test/temporary-folder.ts',
          sequence: { groupOrder: 2 },
          include: ['test/crash/**/*.test.ts'],
          testTimeout: 600_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
    ],
  },
})
