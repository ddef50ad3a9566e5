// The source files by room, without tests: what the line budget and the count of private words go over.

import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'

const top = resolve(import.meta.dirname, '..')

export interface SourceFile {
  /** `src/domain`, …, `src/extras/agents`, …, `web`, and `src` for the files outside the rooms. */
  readonly room: string
  /** From the top of the checkout. */
  readonly name: string
  readonly path: string
}

export function sourceFiles(): readonly SourceFile[] {
  return ['src', 'web'].flatMap(folder =>
    readdirSync(join(top, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.tsx?$/.test(name) && !/\.(test|contract|fixture|arbitrary)\.tsx?$/.test(name))
      .sort()
      .map(name => {
        const depth = name.startsWith('extras/') ? 2 : 1
        const room = folder === 'web' ? 'web' : ['src', ...name.split('/').slice(0, -1).slice(0, depth)].join('/')
        return { room, name: `${folder}/${name}`, path: join(top, folder, name) }
      }),
  )
}
