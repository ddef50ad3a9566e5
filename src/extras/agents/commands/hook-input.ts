// The JSON object that an agent passes to a hook on standard input, and the files that its tool is about to write.

import type { Context } from '../../../cli/context.ts'
import { isMap } from '../../../domain/json.ts'

const INPUT_MAX_BYTES = 64 * 1024 * 1024
/** Agents write their input at once; without input, a person is trying the hook by hand. */
const SILENCE_MS = 300

/** The object, as soon as it is whole; undefined where none comes. */
export async function readHookInput({ terminal, stdin }: Context): Promise<HookInput | undefined> {
  if (terminal !== null) return undefined
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), SILENCE_MS)
  })
  const read = async (): Promise<HookInput | undefined> => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of stdin()) {
      timer?.refresh()
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > INPUT_MAX_BYTES) return undefined
      const input = endsObject(chunk) ? objectIn(chunks) : undefined
      if (input !== undefined) return input
    }
    return objectIn(chunks)
  }
  return await Promise.race([read().catch(() => undefined), silence]).finally(() => clearTimeout(timer))
}

export interface HookInput {
  readonly [key: string]: unknown
}

const endsObject = (chunk: Uint8Array): boolean => /\}\s*$/.test(Buffer.from(chunk.subarray(-16)).toString('latin1'))

function objectIn(chunks: readonly Uint8Array[]): HookInput | undefined {
  try {
    const input: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    return isMap(input) ? input : undefined
  } catch {
    return undefined
  }
}

export function textIn(input: HookInput | undefined, key: string): string | undefined {
  const value = input?.[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** What the tool is about to write; empty for tools that write no files, null when its input is not as we know it. */
export function writtenPaths(input: HookInput): readonly string[] | null {
  const tool = textIn(input, 'tool_name')
  if (tool === undefined) return null
  const find = Object.hasOwn(WRITERS, tool) ? WRITERS[tool] : undefined
  if (find === undefined) return []
  const { tool_input: given } = input
  const paths = isMap(given) ? find(given) : []
  return paths.length === 0 || paths.some(path => path.includes('\0')) ? null : paths
}

const field =
  (key: string) =>
  (given: HookInput): readonly string[] => {
    const path = textIn(given, key)
    return path === undefined ? [] : [path]
  }

const WRITERS: { readonly [tool: string]: (given: HookInput) => readonly string[] } = {
  Write: field('file_path'),
  Edit: field('file_path'),
  MultiEdit: field('file_path'),
  NotebookEdit: field('notebook_path'),
  apply_patch: patchedPaths,
  write_file: field('file_path'),
  replace: field('file_path'),
}

/** A patch of Codex names each file on a line of its own. */
function patchedPaths(given: HookInput): readonly string[] {
  const patch = textIn(given, 'command') ?? ''
  return Array.from(patch.matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm), ([, path]) =>
    path!.trim(),
  )
}
