// The path gate: the only way from a path in a plan to a file of the workspace. The text is validated first, then every component is opened
// from its parent, never through a link. Reads may not enter Planfold's state; writes may not touch anything protected. Refusals are
// values.

import { realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve } from 'node:path'
import type { Sha256 } from '../../domain/id.ts'
import { type Answer, answering, codeOf, ignoring, refuse } from '../safety-refusal.ts'
import { Directory, type Via } from './directory.ts'
import { fold, protectedBy } from './protected-path.ts'
import { realTarget } from './real-path.ts'
import { FILE_MAX_BYTES, type FileContent, readFile, removeFile, replaceFile } from './regular-file.ts'
import { parseRelativePath } from './relative-path.ts'

export interface GateOptions {
  readonly root: string
  /** Absolute; inside the workspace or not, existing or not. */
  readonly stateDir: string
  readonly via?: Via
}

export async function openGate(options: GateOptions): Promise<Answer<PathGate>> {
  return await answering(`opening the workspace ${JSON.stringify(options.root)}`, async () => {
    const root = await Directory.open(options.root, options.via)
    return new PathGate(root, await stateInside(options))
  })
}

export class PathGate {
  readonly #root: Directory
  readonly #state: readonly string[] | null
  /** Folders with deletions that are not synced yet. */
  readonly #unsettled = new Map<string, readonly string[]>()

  constructor(root: Directory, state: readonly string[] | null) {
    this.#root = root
    this.#state = state
  }

  /** Validates and normalises the text of the path, without looking at any file. */
  async check(path: string, use: 'read' | 'write'): Promise<Answer<string>> {
    return await answering(path, async () => this.#parse(path, use).join('/'))
  }

  /** Null when the file does not exist. */
  async read(path: string, options: { readonly maxBytes?: number } = {}): Promise<Answer<FileContent | null>> {
    return await answering(`reading ${JSON.stringify(path)}`, async () => {
      const components = this.#parse(path, 'read')
      return await ignoring(['ENOENT'], () =>
        this.#within(components, 'find', (parent, name) => readFile(parent, name, options.maxBytes ?? FILE_MAX_BYTES)),
      )
    })
  }

  /** Writes a whole file if its content is `expect` (null: no file), creating parent directories. */
  async write(
    path: string,
    bytes: Uint8Array,
    options: { readonly expect: Sha256 | null; readonly mode?: number },
  ): Promise<Answer<void>> {
    return await answering(`writing ${JSON.stringify(path)}`, async () => {
      const components = this.#parse(path, 'write')
      await this.#within(components, 'make', (parent, name) => {
        return replaceFile(parent, name, { bytes, links: 'refuse', ...options })
      })
    })
  }

  /** Deletes a regular file if its content is `expect`. Durable after `settle`. */
  async remove(path: string, options: { readonly expect: Sha256 }): Promise<Answer<void>> {
    return await answering(`deleting ${JSON.stringify(path)}`, async () => {
      const components = this.#parse(path, 'write')
      const folder = components.slice(0, -1)
      this.#unsettled.set(folder.join('/'), folder)
      await this.#within(components, 'find', (parent, name) => removeFile(parent, name, options.expect, 'later'))
    })
  }

  /** Makes deletions durable, with one sync for each folder. */
  async settle(): Promise<Answer<void>> {
    return await answering('deleting files', async () => {
      for (const [key, components] of this.#unsettled) {
        const folder = await ignoring(['ENOENT'], () => this.#enter(components, 'find'))
        try {
          await folder?.sync()
        } finally {
          await folder?.close()
        }
        this.#unsettled.delete(key)
      }
    })
  }

  async chmod(path: string, mode: number): Promise<Answer<void>> {
    return await answering(`changing the mode of ${JSON.stringify(path)}`, async () => {
      const components = this.#parse(path, 'write')
      if ((mode & ~0o777) !== 0) {
        refuse('policy', `the mode ${mode.toString(8)} is not allowed`, 'use permission bits only, at most 777')
      }
      await this.#within(components, 'find', (parent, name) => parent.chmod(name, mode, 'refuse'))
    })
  }

  /** For starting a process in it. The caller closes it. */
  async directory(path: string): Promise<Answer<Directory>> {
    return await answering(`entering ${JSON.stringify(path)}`, () => this.#enter(this.#parse(path, 'read'), 'find'))
  }

  async close(): Promise<void> {
    await this.#root.close()
  }

  #parse(path: string, use: 'read' | 'write'): readonly string[] {
    const components = parseRelativePath(path)
    const rule = protectedBy(components, this.#state)
    if (rule === null) return components
    const ours = rule === '.planfold' || rule.startsWith('the state')
    if (use === 'write' || ours) {
      const hint = use === 'write' ? 'a person can change it manually' : 'use the planfold command to look into it'
      refuse('policy', `${JSON.stringify(path)} is protected (${rule})`, hint)
    }
    return components
  }

  async #within<T>(
    components: readonly string[],
    missing: 'find' | 'make',
    use: (parent: Directory, name: Buffer) => Promise<T>,
  ): Promise<T> {
    const leaf = components.at(-1)
    if (leaf === undefined) refuse('policy', 'the path names the workspace itself', 'name a file in it')
    const parent = await this.#enter(components.slice(0, -1), missing)
    try {
      return await use(parent, Buffer.from(leaf))
    } finally {
      await parent.close()
    }
  }

  async #enter(components: readonly string[], missing: 'find' | 'make'): Promise<Directory> {
    const found = this.#root.descend(components.map(component => Buffer.from(component)))
    if (found !== null) return await found
    // Something is missing or in the way: go step by step, to create it or to name it.
    let here = await this.#root.reopen()
    for (const component of components) {
      const name = Buffer.from(component)
      try {
        const next = missing === 'make' ? await here.make(name) : await here.enter(name)
        await here.close()
        here = next
      } catch (error) {
        const link = codeOf(error) === 'ENOTDIR' && (await here.look(name))?.isSymbolicLink()
        await here.close()
        if (link) refuse('policy', `${JSON.stringify(component)} is a symbolic link`, 'use the real path')
        throw error
      }
    }
    return here
  }
}

/** The case-folded path of the state folder inside the workspace; null when it is elsewhere. It need not exist. */
export async function stateInside({ root, stateDir }: GateOptions): Promise<readonly string[] | null> {
  const state = await realTarget(resolve(stateDir))
  const inside = state === null ? '' : relative(await realpath(root), state)
  if (inside === '' || inside === '..' || inside.startsWith('../') || isAbsolute(inside)) return null
  return inside.split('/').map(fold)
}
