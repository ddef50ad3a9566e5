// Folders that are opened and made step by step, without following links.

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

// One open directory, and the names directly in it. Nothing here takes a path: every step goes from a held descriptor to
// one name, as openat does, through /proc/self/fd, and never follows a symbolic link. So a directory swapped for a link
// between check and use leads nowhere. Names are bytes, because Linux knows names that are not text.
// Where /proc is missing (macOS) the held path is used instead; then a swap in the right microsecond could succeed.

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

  /** Opens the directory everything else is reached from; only here links in the path are followed, by the caller's wish. */
  static async open(path: string, via: Via = defaultVia()): Promise<Directory> {
    const real = await fs.realpath(path)
    return new Directory(await fs.open(real, O_RDONLY | O_DIRECTORY), Buffer.from(real), via)
  }

  /** The same directory once more, to be closed on its own. */
  async reopen(): Promise<Directory> {
    return new Directory(await fs.open(this.at(null), O_RDONLY | O_DIRECTORY), this.#path, this.#via)
  }

  async enter(name: Name): Promise<Directory> {
    const path = this.at(name)
    return new Directory(await fs.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path, this.#via)
  }

  /** Enters several folders in turn; null when one cannot be entered. Synchronous, because waiting costs far more. */
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
      // The same directory as a handle, which is what everything else here works with.
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

  /** Opens for reading without following a link and without waiting, should it be a fifo. */
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

  /** Changes the mode of a regular file or directory, which (on Linux) need not be readable. `links`: may it have other names? */
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

  /** Asked after opening, by one look: an open file with a second name may be somebody else's, unlinked here. */
  async #demandOnlyName(name: Name, handle: fs.FileHandle): Promise<void> {
    const own = await handle.stat({ bigint: true })
    const here = await this.look(name)
    if (here === null || here.ino !== own.ino || here.dev !== own.dev)
      refuse('logic', `${JSON.stringify(name.toString())} was replaced meanwhile`, 'look at it and try again')
    if (here.nlink > 1n) refuse('policy', `${JSON.stringify(name.toString())} is a hard link`, 'copy it first')
  }

  async sync(): Promise<void> {
    // Some file systems know no sync for directories; there is nothing more to be done on them.
    await ignoring(['EINVAL', 'ENOTSUP'], () => this.#handle.sync())
  }

  /** A path that names this directory, or a name in it, while it is open; null asks for the directory. */
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
  // A bug of ours, not a refusal: the caller splits paths.
  if (name.length === 0 || name.includes(0x2f) || name.equals(DOT) || name.equals(DOTS)) {
    throw new TypeError(`not a name in a directory: ${JSON.stringify(name.toString())}`)
  }
  return Buffer.concat([here, SLASH, name])
}

function defaultVia(): Via {
  return process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptors' : 'paths'
}

// Linux only, and not among Node's constants: a descriptor that says which file, without the right to read it.
const O_PATH = 0o10000000
const SLASH = Buffer.from('/')
const DOT = Buffer.from('.')
const DOTS = Buffer.from('..')

// A folder and those above it, made one by one. Node's own `recursive` never comes back where a folder says it is there and takes
// nothing in, as /proc does.

/** Says which had to be made, the outermost first. */
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

/** Removes a file or folder, if it exists. Folders without write permission (Go's modules) are made writable first. */
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
