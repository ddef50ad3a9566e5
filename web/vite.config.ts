// Builds the web UI from web/ into dist/ui: split by route, with hashed file names, and compressed in advance, so that the
// service only picks a file.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const root = import.meta.dirname
const out = resolve(root, '../dist/ui')
const COMPRESSED = /\.(js|css|svg|html)$/

/** Quality 9 takes a fifth of the time of 11 and is 3 % larger. */
const compress = (): Plugin => ({
  name: 'compress',
  apply: 'build',
  closeBundle() {
    for (const folder of [out, join(out, 'assets')]) {
      for (const name of readdirSync(folder)) {
        if (!COMPRESSED.test(name)) continue
        const path = join(folder, name)
        const data = readFileSync(path)
        const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: data.length }
        writeFileSync(`${path}.br`, brotliCompressSync(data, { params }))
        writeFileSync(`${path}.gz`, gzipSync(data, { level: 9 }))
      }
    }
  },
})

export default defineConfig({
  root,
  base: '/ui/',
  plugins: [react(), compress()],
  // Browsers with popover, dialog and color-mix.
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
    // Few files, because each costs a round trip: what every page needs, what plan and inbox share, and the pages themselves. What is
    // opened later (history, board, palette) stays apart.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'base',
              test: /node_modules\/(react|react-dom|lucide-react|scheduler|use-sync-external-store|@tanstack)|web\/(router|parts\/(?!palette|diff|argv|hint-text|command)|data\/(?!live-hub|live-worker|plan-fold))/,
              priority: 1,
            },
            {
              name: 'tasks',
              test: /web\/|src\/domain\/(views\/(pages|test-changes)|state\/(task-index|heap)|plan-rules|actions|policy|hint)/,
              minShareCount: 2,
              includeDependenciesRecursively: false,
            },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  logLevel: 'warn',
  // `npx vite web` beside a service: other requests are proxied to it as if from its own page.
  server: {
    proxy: {
      '^/(?!ui/)': {
        target: process.env.PLANFOLD_URL ?? 'http://127.0.0.1:8011',
        changeOrigin: true,
        headers: { origin: process.env.PLANFOLD_URL ?? 'http://127.0.0.1:8011' },
      },
    },
  },
})
