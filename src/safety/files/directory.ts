// Folders that are opened and created step by step, without following symbolic links.

import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import * as fs from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { codeOf, ignoring, refuse } from '../safety-refusal.ts'

// An open directory and the names directly in it. No method takes a path: each step goes from a descriptor to one name, as with openat,
// through /proc/self/fd, and never follows a symbolic link. So replacing a directory by a link between check and use has no effect. Names
// are bytes, because Linux allows names that are not text. Without /proc (macOS) the path is used instead, so an attack at the right
// microsecond could succeed.

export type Name = Buffer
export type Via = 'descriptors' | 'paths'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants

export class Directory {
  readonly #handle: fs.FileHandle
  readonly #path: Buffer
  readonly #via: Via

  private constructor(handle: fs.FileHandle, path: Buffer, via: Via) {
    this.#handle = handle
    this.#path = path
    this.#via = via
  }

  /** The starting directory; only here links in the path are followed, as the caller intends. */
  static async open(path: string, via: Via = defaultVia()): Promise<Directory> {
    const real = await fs.realpath(path)
    return new Directory(await fs.open(real, O_RDONLY | O_DIRECTORY), Buffer.from(real), via)
  }

  /** A second descriptor, to be closed separately. */
  async reopen(): Promise<Directory> {
    return new Directory(await fs.open(this.at(null), O_RDONLY | O_DIRECTORY), this.#path, this.#via)
  }

  async enter(name: Name): Promise<Directory> {
    const path = this.at(name)
    return new Directory(await fs.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path, this.#via)
  }

  /** Enters several folders; null when one cannot be entered. Synchronous, because awaiting costs far more. */
  descend(names: readonly Name[]): Promise<Directory> | null {
    if (this.#via !== 'descriptors' || names.length < 2) return null
    let held: number | null = null
    try {
      for (const name of names.slice(0, -1)) {
        const next = openSync(held === null ? this.at(name) : within(held, name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        if (held !== null) closeSync(held)
        held = next
      }
      const path = within(held!, names.at(-1)!)
      const last = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      closeSync(held!)
      held = last
      // As a handle, for the other methods.
      const opened = fs.open(`/proc/self/fd/${last}`, O_RDONLY | O_DIRECTORY)
      held = null
      return opened.then(
        handle => {
          closeSync(last)
          return new Directory(handle, path, this.#via)
        },
        error => {
          closeSync(last)
          throw error
        },
      )
    } catch {
      if (held !== null) closeSync(held)
      return null
    }
  }

  async make(name: Name): Promise<Directory> {
    const made = await ignoring(['EEXIST'], () => fs.mkdir(this.at(name)).then(() => true))
    if (made) await this.sync()
    return await this.enter(name)
  }

  async look(name: Name): Promise<BigIntStats | null> {
    return await ignoring(['ENOENT'], () => fs.lstat(this.at(name), { bigint: true }))
  }

  /** Follows no link, and does not block on a fifo. */
  async openFile(name: Name): Promise<fs.FileHandle> {
    return await fs.open(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }

  async createFile(name: Name, mode: number): Promise<fs.FileHandle> {
    return await fs.open(this.at(name), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  }

  async rename(from: Name, to: Name): Promise<void> {
    await fs.rename(this.at(from), this.at(to))
  }

  async link(from: Name, to: Name): Promise<void> {
    await fs.link(this.at(from), this.at(to))
  }

  async unlink(name: Name): Promise<void> {
    await fs.unlink(this.at(name))
  }

  async removeDirectory(name: Name): Promise<void> {
    await fs.rmdir(this.at(name))
  }

  async readLink(name: Name): Promise<Buffer> {
    return await fs.readlink(this.at(name), { encoding: 'buffer' })
  }

  async makeLink(name: Name, target: Buffer): Promise<void> {
    await fs.symlink(target, this.at(name))
  }

  /** Works for a regular file or directory that is not readable (on Linux). `links`: may it have hard links? */
  async chmod(name: Name, mode: number, links: 'any' | 'refuse' = 'any'): Promise<void> {
    const which = this.#via === 'descriptors' ? O_PATH : O_RDONLY | O_NONBLOCK
    const handle = await fs.open(this.at(name), which | O_NOFOLLOW)
    try {
      const stat = await handle.stat()
      if (!stat.isFile() && !stat.isDirectory()) refuse('policy', 'only files and directories have a mode to change')
      if (links === 'refuse' && stat.isFile()) await this.#demandOnlyName(name, handle)
      await (which === O_PATH ? fs.chmod(`/proc/self/fd/${handle.fd}`, mode) : handle.chmod(mode))
    } finally {
      await handle.close()
    }
  }

  /** After opening, by one stat of the name: an open file could be unlinked here and have its only name elsewhere. */
  async #demandOnlyName(name: Name, handle: fs.FileHandle): Promise<void> {
    const own = await handle.stat({ bigint: true })
    const here = await this.look(name)
    if (here === null || here.ino !== own.ino || here.dev !== own.dev)
      refuse('logic', `${JSON.stringify(name.toString())} was replaced meanwhile`, 'look at it and try again')
    if (here.nlink > 1n) refuse('policy', `${JSON.stringify(name.toString())} is a hard link`, 'copy it first')
  }

  async sync(): Promise<void> {
    // Some file systems cannot sync directories.
    await ignoring(['EINVAL', 'ENOTSUP'], () => this.#handle.sync())
  }

  /** A path that names this directory, or a name in it, while it is open; null for the directory. */
  at(name: Name | null): Buffer {
    const here = this.#via === 'descriptors' ? Buffer.from(`/proc/self/fd/${this.#handle.fd}`) : this.#path
    return name === null ? here : joined(here, name)
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

const within = (descriptor: number, name: Name): Buffer => joined(Buffer.from(`/proc/self/fd/${descriptor}`), name)

function joined(here: Buffer, name: Name): Buffer {
  // A bug of ours, because callers split paths.
  if (name.length === 0 || name.includes(0x2f) || name.equals(DOT) || name.equals(DOTS)) {
    throw new TypeError(`not a name in a directory: ${JSON.stringify(name.toString())}`)
  }
  return Buffer.concat([here, SLASH, name])
}

function defaultVia(): Via {
  return process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptors' : 'paths'
}

// Linux only and missing from Node's constants: opens a file without the right to read it.
const O_PATH = 0o10000000
const SLASH = Buffer.from('/')
const DOT = Buffer.from('.')
const DOTS = Buffer.from('..')

// Creates a folder with its parents. Node's `recursive` never returns for a folder that exists but accepts nothing, such as /proc.

/** Returns the created ones, outermost first. */
export function makeFolder(path: string, mode: number): readonly string[] {
  const missing: string[] = []
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at)
  for (const folder of missing.length === 0 ? [path] : missing) {
    try {
      mkdirSync(folder, mode)
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST'
      if (!isThere || statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
    }
  }
  return missing
}

/** Removes a file or folder, if it exists. Read-only folders (Go's modules) are made writable first. */
export async function removeTree(path: string): Promise<void> {
  const remove = () => fs.rm(path, { recursive: true, force: true })
  try {
    await remove()
  } catch (error) {
    if (codeOf(error) !== 'EACCES') throw error
    makeWritable(Buffer.from(path))
    await remove()
  }
}

function makeWritable(folder: Buffer): void {
  chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true, encoding: 'buffer' }))
    if (entry.isDirectory()) makeWritable(joined(folder, entry.name))
}
