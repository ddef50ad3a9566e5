// Commands that only read one place of the workspace, as steps with `read_file` and `search` become: what they name is reached through
// the path gate, so no link leads them elsewhere. A file is read by Planfold itself, and no process is started for it.

import { join } from 'node:path'
import type { PathGate } from '../../safety/files/path-gate.ts'
import type { Answer } from '../../safety/safety-refusal.ts'

const READ_MAX_BYTES = 1024 * 1024

/** The text of the file, when the command is `cat -- FILE`; null when it is to be started like any other. */
export async function gatedRead(gate: PathGate, cwd: string, argv: readonly string[]): Promise<Answer<Buffer | null>> {
  const place = placeOf(argv)
  if (place === null) return { ok: true, value: null }
  const path = join(cwd, place)
  if (argv[0] === 'cat') {
    const read = await gate.read(path, { maxBytes: READ_MAX_BYTES })
    if (!read.ok) return read
    if (read.value !== null) return { ok: true, value: read.value.bytes }
    return { ok: false, failure: missing(place) }
  }
  // What is below a folder is searched without following links. The folder, or the file, must be no link itself.
  const folder = await gate.directory(path)
  if (folder.ok) {
    await folder.value.close()
    return { ok: true, value: null }
  }
  const file = await gate.read(path)
  return file.ok && file.value !== null
    ? { ok: true, value: null }
    : file.ok
      ? { ok: false, failure: missing(place) }
      : file
}

const missing = (path: string) =>
  ({
    class: 'logic',
    message: `${JSON.stringify(path)} does not exist`,
    hint: 'name a file of the workspace',
    retryable: false,
  }) as const

/** The one place that such a command names, relative to its folder. */
function placeOf(argv: readonly string[]): string | null {
  const [program, ...words] = argv
  const place = words.at(-1)
  if (place === undefined || words.at(-2) !== '--') return null
  if (program === 'cat') return words.length === 2 ? place : null
  return program === 'grep' && words[0] === '-rnIE' ? place : null
}
