// Where templates are: the stock ones in the package, a person's own in a folder of theirs. One's own goes before a stock one of the
// same name. Only a name that is a name becomes part of a path, and only regular files are read. What is wrong is told as a value.

import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Hint } from '../../domain/hint.ts'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { isTemplateName, readTemplate, type Template } from './document.ts'

/** Beside the package's own description, wherever this file was put when the package was built. */
const stockFolder = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('planfold/package.json')), 'templates')
const OWN_MAX = 1_000

export interface Shelved {
  readonly name: string
  readonly origin: 'stock' | 'own'
  readonly path: string
  /** It stands before a stock template of the same name. */
  readonly hides: boolean
}

export type ShelvedRead =
  | { readonly ok: true; readonly template: Template }
  /** `text` is what the diagnostics are about; empty when the file itself is wrong. */
  | (Wrong & { readonly text: string; readonly diagnostics: readonly Diagnostic[] })

export type Shelving = { readonly ok: true; readonly path: string } | Wrong

interface Wrong {
  readonly ok: false
  readonly message: string
  readonly hint: Hint
}

/** All there are, by name; `folder` holds one's own. */
export async function shelfWith(folder: string): Promise<readonly Shelved[]> {
  const from = stockFolder()
  const [stock, own] = await Promise.all([names(from), names(folder)])
  const mine = own.map(name => ({
    name,
    origin: 'own' as const,
    path: join(folder, `${name}.yaml`),
    hides: stock.includes(name),
  }))
  const others = stock
    .filter(name => !own.includes(name))
    .map(name => ({ name, origin: 'stock' as const, path: join(from, `${name}.yaml`), hides: false }))
  return [...mine, ...others].sort((a, b) => (a.name < b.name ? -1 : 1))
}

export async function readTemplateFile({ name, path }: Shelved): Promise<ShelvedRead> {
  const text = await readText(path)
  if (typeof text !== 'string') return { ...text, text: '', diagnostics: [] }
  const read = readTemplate(text)
  if (!read.ok) {
    const [first] = read.diagnostics
    const message = first === undefined ? `${path} is not a template` : first.message
    return { ok: false, message, hint: first?.hint ?? '', text, diagnostics: read.diagnostics }
  }
  if (read.template.name === name) return read
  const message = `the template in ${path} calls itself '${read.template.name}'`
  return { ok: false, message, hint: `name it like its file: ${name}`, text: '', diagnostics: [] }
}

/** Writes a template of one's own; never over another one unless `replace`. */
export async function writeTemplate(
  folder: string,
  name: string,
  text: string,
  options: { readonly replace: boolean },
): Promise<Shelving> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${name}.yaml`)
  const there = await lstat(path).catch(() => null)
  if (there !== null && (!options.replace || !there.isFile()))
    return { ok: false, message: `there is a template '${name}' already: ${path}`, hint: 'choose another name' }
  await writeFile(path, text, { flag: there === null ? 'wx' : 'w' })
  return { ok: true, path }
}

async function names(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  return entries
    .filter(entry => entry.isFile() && entry.name.endsWith('.yaml'))
    .map(entry => entry.name.slice(0, -'.yaml'.length))
    .filter(isTemplateName)
    .slice(0, OWN_MAX)
}

async function readText(path: string): Promise<string | Wrong> {
  const there = await lstat(path)
  const most = `a template is a file of at most ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`
  if (!there.isFile() || there.size > DOCUMENT_MAX_BYTES)
    return { ok: false, message: `${path} is not a template`, hint: most }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    if (error instanceof TypeError)
      return { ok: false, message: `${path} is not valid UTF-8 text`, hint: 'save it as UTF-8' }
    throw error
  }
}
