// Where templates are: the stock ones in the package, a person's own in `.planfold/templates`. One's own goes before a stock
// one of the same name. Only a name that is a name becomes part of a path, and only regular files are read.

import { lstat, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { DOCUMENT_MAX_BYTES } from '../../domain/limits.ts'
import { suggest } from '../../domain/suggest.ts'
import type { Template } from '../../format/templates/document.ts'
import type { Context } from '../context.ts'
import { Complaint, EXIT, type FileDiagnostic, notFound, usage } from '../exit.ts'

/** Beside the package's own description, wherever this file was put when the package was built. */
const STOCK = join(dirname(createRequire(import.meta.url).resolve('planfold/package.json')), 'templates')
const OWN_MAX = 1_000

export type Origin = 'stock' | 'own'

export interface Shelved {
  readonly name: string
  readonly origin: Origin
  readonly path: string
  /** It stands before a stock template of the same name. */
  readonly hides: boolean
}

/** All there are, by name. */
export async function shelf(context: Context): Promise<readonly Shelved[]> {
  const [stock, own] = await Promise.all([names(STOCK), names(await ownFolder(context))])
  const folder = await ownFolder(context)
  const mine = own.map(name => ({
    name,
    origin: 'own' as const,
    path: join(folder, `${name}.yaml`),
    hides: stock.includes(name),
  }))
  const others = stock
    .filter(name => !own.includes(name))
    .map(name => ({ name, origin: 'stock' as const, path: join(STOCK, `${name}.yaml`), hides: false }))
  return [...mine, ...others].sort((a, b) => (a.name < b.name ? -1 : 1))
}

export async function findTemplate(
  context: Context,
  name: string,
): Promise<{ readonly shelved: Shelved; readonly template: Template }> {
  const all = await shelf(context)
  const shelved = all.find(one => one.name === name)
  if (shelved === undefined) {
    const near = suggest(
      name,
      all.map(one => one.name),
    )
    throw notFound(
      `there is no template '${name}'`,
      near === null ? '`planfold template list` shows all' : `did you mean '${near}'?`,
    )
  }
  return { shelved, template: await readShelved(shelved) }
}

/** Throws a Complaint with every fault at its place when the file is no template. */
export async function readShelved({ name, path }: Shelved): Promise<Template> {
  const text = await readText(path)
  const { readTemplate } = await import('../../format/templates/document.ts')
  const read = readTemplate(text)
  if (!read.ok) throw faulty(path, text, read.diagnostics)
  if (read.template.name !== name)
    throw usage(`the template in ${path} calls itself '${read.template.name}'`, `name it like its file: ${name}`)
  return read.template
}

/** What is wrong with a template, or with the plan made of it, as a complaint. */
export function faulty(
  path: string,
  text: string,
  diagnostics: readonly Omit<FileDiagnostic, 'file' | 'source'>[],
): Complaint {
  const lines = text.split('\n')
  const placed = diagnostics.map(diagnostic => ({
    ...diagnostic,
    file: path,
    source: lines[diagnostic.line - 1]?.replace(/\r$/, '') ?? '',
  }))
  const [first] = placed
  const message =
    first === undefined ? `${path} is no template` : `${path}:${first.line}:${first.column}: ${first.message}`
  return new Complaint(EXIT.usage, 'invalid-template', message, first?.hint, placed)
}

/** Writes a template of one's own; never over another one unless `replace`. */
export async function keepTemplate(
  folder: string,
  name: string,
  text: string,
  options: { readonly replace: boolean },
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `${name}.yaml`)
  const there = await lstat(path).catch(() => null)
  if (there !== null && (!options.replace || !there.isFile()))
    throw new Complaint(
      EXIT.refused,
      'exists',
      `there is a template '${name}' already: ${path}`,
      'choose another name, or say --replace',
    )
  await writeFile(path, text, { flag: there === null ? 'wx' : 'w' })
  return path
}

export async function ownFolder(context: Context): Promise<string> {
  const { locate } = await import('../../compose.ts')
  const { dir } = context.settings
  const { stateDir } = locate({
    cwd: context.cwd,
    environment: context.environment,
    ...(dir === undefined ? {} : { dir }),
  })
  return join(stateDir, 'templates')
}

async function names(folder: string): Promise<readonly string[]> {
  const { isTemplateName } = await import('../../format/templates/document.ts')
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

async function readText(path: string): Promise<string> {
  const there = await lstat(path)
  if (!there.isFile() || there.size > DOCUMENT_MAX_BYTES)
    throw usage(`${path} is no template`, `a template is a file of at most ${DOCUMENT_MAX_BYTES / 1024 / 1024} MB`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path))
  } catch (error) {
    if (error instanceof TypeError) throw usage(`${path} is not valid UTF-8 text`, 'save it as UTF-8')
    throw error
  }
}
