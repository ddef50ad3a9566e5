// Serves the built web UI (dist/ui) from memory; the files were compressed at build time. The list is read once and requests only
// look up names, so no path outside the folder is reachable.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CODINGS, codingFor } from './compression.ts'

export interface PageFile {
  readonly type: string
  readonly data: Uint8Array
  readonly encoding?: 'br' | 'gzip'
}

export interface PageFiles {
  index(accepted: string | null): PageFile
  asset(name: string, accepted: string | null): PageFile | null
}

const TYPES: { readonly [extension: string]: string } = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}
const SUFFIXES = { br: '.br', gzip: '.gz' } as const

const BUILT = fileURLToPath(new URL('../ui/', import.meta.url))

export function openPageFiles(folder: string = BUILT): PageFiles | null {
  if (!existsSync(join(folder, 'index.html'))) return null
  const assets = join(folder, 'assets')
  const names = new Set(existsSync(assets) ? readdirSync(assets) : [])
  const read = new Map<string, Uint8Array>()
  const bytes = (path: string): Uint8Array => {
    const known = read.get(path) ?? readFileSync(path)
    read.set(path, known)
    return known
  }
  const best = (path: string, has: (suffix: string) => boolean, accepted: string | null): PageFile | null => {
    const type = TYPES[extname(path)]
    if (type === undefined) return null
    const built = CODINGS.filter(coding => has(SUFFIXES[coding]))
    const encoding = codingFor(accepted ?? '', built)
    return encoding === null ? { type, data: bytes(path) } : { type, data: bytes(path + SUFFIXES[encoding]), encoding }
  }
  return {
    index: accepted =>
      best(join(folder, 'index.html'), suffix => existsSync(join(folder, `index.html${suffix}`)), accepted)!,
    asset: (name, accepted) =>
      names.has(name) ? best(join(assets, name), suffix => names.has(name + suffix), accepted) : null,
  }
}
