// `planfold template new NAME`: a plan document made of a template and the given values. It asks nothing, and lists all
// missing and wrong values at once.

import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isPlanName } from '../../../domain/id.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { Diagnostic } from '../../../format/text/diagnostic.ts'
import { describeType, exampleOf, type Parameter, type Problem, type Template } from '../../../operations/templates.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { CliError, type Context, EXIT, envelope, print, printNote, usage } from '../../command.ts'
import { type PlanFile, parsePlanText, readPlanFile, readText } from '../../plan-file.ts'
import { printDiagnostics } from '../../text/diagnostics.ts'
import { faulty, findTemplate } from './template-shelf.ts'

// `--set key=value` and `--set-file key=path`: words of the command line become values of the declared types. What cannot be
// one is left as text, so that the check of the parameters says what is wrong with it.

export interface SetOptions {
  readonly set?: readonly string[]
  readonly setFile?: readonly string[]
}

/** A list may be given as JSON, or item by item by repeating its name. */
async function readSettings(
  context: Context,
  parameters: readonly Parameter[],
  { set = [], setFile = [] }: SetOptions,
): Promise<JsonObject> {
  const given = new Map<string, Json>()
  const take = (name: string, read: (parameter: Parameter | undefined) => Json): void => {
    const parameter = parameters.find(one => one.name === name)
    const value = read(parameter)
    const before = given.get(name)
    if (before === undefined) given.set(name, value)
    else if (parameter?.type === 'list') given.set(name, [listed(before), listed(value)].flat())
    else throw usage(`'${name}' is given twice`, 'give it once; only a list may be given item by item')
  }
  for (const word of set) {
    const [name, text] = halves(word, '--set')
    take(name, parameter => fromWord(parameter, text))
  }
  for (const word of setFile) {
    const [name, path] = halves(word, '--set-file')
    const text = (await readText(context, path)).replace(/^\uFEFF|\r?\n$/g, '')
    take(name, parameter => (parameter?.type === 'list' ? fromLines(text) : fromWord(parameter, text)))
  }
  return Object.fromEntries(given)
}

export function halves(word: string, option: string): readonly [name: string, value: string] {
  const at = word.indexOf('=')
  if (at < 1) throw usage(`'${word}' has no value`, `write ${option} name=value`)
  return [word.slice(0, at), word.slice(at + 1)]
}

export function exampleCommand(name: string, parameters: readonly Parameter[], command?: string): string {
  const words = parameters
    .filter(({ required }) => required)
    .map(parameter => {
      const example = exampleOf(parameter)
      return `--set ${shellWord(`${parameter.name}=${typeof example === 'string' ? example : JSON.stringify(example)}`)}`
    })
  if (command !== undefined) return [command, ...words].join(' ')
  return ['planfold template new', name, ...words, '--out plan.yaml'].join(' ')
}

function fromWord(parameter: Parameter | undefined, text: string): Json {
  switch (parameter?.type) {
    case 'number':
    case 'integer':
      return /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'enum':
      return parameter.values?.find(value => String(value) === text) ?? text
    case 'list':
      return fromList(parameter, text)
    default:
      return text
  }
}

function fromList(parameter: Parameter, text: string): Json {
  if (/^\s*\[/.test(text)) {
    try {
      return JSON.parse(text) as Json
    } catch {
      throw usage(
        `'${parameter.name}' looks like a list, but is not JSON`,
        `write --set '${parameter.name}=["a", "b"]'`,
      )
    }
  }
  const of = { ...parameter, type: parameter.of ?? 'string' } as Parameter
  return [fromWord(of, text)]
}

function fromLines(text: string): Json {
  if (/^\s*\[/.test(text)) return fromList({ name: 'the file', type: 'list' } as Parameter, text)
  return text.split(/\r?\n/).filter(line => line.trim() !== '')
}

function listed(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value]
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

export interface NewOptions extends SetOptions {
  readonly out?: string
  readonly name?: string
  readonly run?: boolean
  readonly force?: boolean
}

export async function templateNew(context: Context, name: string, options: NewOptions): Promise<number> {
  const { shelved, template } = await findTemplate(context, name)
  const given = await readSettings(context, template.parameters, options)
  const called = await planName(options)
  const { planFromTemplate } = await import('../../../operations/templates.ts')
  const made = planFromTemplate(template, given, { name: called })
  if (!made.ok && made.problems.length > 0) throw missing(context, template, made.problems)
  if (!made.ok) throw faulty(shelved.path, template.text, made.diagnostics)
  const notes = faulty(shelved.path, template.text, made.warnings).diagnostics
  for (const line of printDiagnostics(context.paint, notes, '--json shows all')) printNote(context, line)
  const { printYaml } = await import('../../../format/plan/print.ts')
  const warnings = notes.map(({ source: _, ...warning }) => warning)
  return await hand(context, { definition: made.definition, text: printYaml(made.definition), warnings }, options)
}

/** A plan document as it is, or the plan that a template becomes with these values: `run FILE --set name=value`. */
export async function readFilledIn(context: Context, path: string, options: SetOptions): Promise<PlanFile> {
  const isSet = (options.set?.length ?? 0) + (options.setFile?.length ?? 0) > 0
  if (path === '-' && !isSet) return await readPlanFile(context, path)
  const text = await readText(context, path)
  if (!/^\uFEFF?[ \t]*(?:\{[ \t]*)?"?planfold-template"?[ \t]*:/m.test(text)) {
    if (!isSet) return await readPlanFile(context, path)
    throw usage(
      `${path} is a plan without parameters, so nothing can be set in it`,
      'parameters are declared by a template (planfold-template: 2); `planfold template show NAME` shows one',
    )
  }
  const { readTemplate } = await import('../../../operations/templates.ts')
  const read = readTemplate(text)
  if (!read.ok) throw faulty(path, text, read.diagnostics)
  const { template } = read
  const { planFromTemplate } = await import('../../../operations/templates.ts')
  const made = planFromTemplate(template, await readSettings(context, template.parameters, options))
  if (!made.ok && made.problems.length > 0) throw missing(context, template, made.problems, `planfold run ${path}`)
  if (!made.ok) throw faulty(path, text, made.diagnostics)
  const { printYaml } = await import('../../../format/plan/print.ts')
  const file = await parsePlanText(path, printYaml(made.definition))
  // Lines of the generated text mean nothing to the author of the template.
  const locate: PlanFile['locate'] = fault => ({ ...file.locate(fault), file: path, line: 1, column: 1, source: '' })
  return { ...file, warnings: faulty(path, text, made.warnings).diagnostics, locate }
}

interface Made {
  readonly definition: PlanDefinition
  readonly text: string
  readonly warnings: readonly Diagnostic[]
}

async function hand(context: Context, { definition, text, warnings }: Made, options: NewOptions): Promise<number> {
  const out = options.out ?? (options.run === true ? `${definition.name}.yaml` : '-')
  if (out === '-' && options.run === true) throw usage('a plan that is run needs a file', 'name one with --out')
  if (out !== '-') await write(resolve(context.cwd, out), out, text, options)
  if (options.run === true) {
    printNote(context, `wrote ${out}`)
    return await (await import('../plans/run.ts')).run(context, out, { start: true })
  }
  if (context.settings.json) {
    const file = out === '-' ? null : out
    context.stdout.write(
      envelope({ data: { name: definition.name, file, tasks: definition.tasks.length, warnings, text } }),
    )
  } else if (out === '-')
    context.stdout.write(context.terminal === null ? text : escapeForTerminal(text, { keepLines: true }))
  else print(context, `wrote ${out}; run it with: planfold run ${out}`)
  return EXIT.done
}

async function planName({ name, out }: NewOptions): Promise<string | undefined> {
  if (name !== undefined) {
    if (!isPlanName(name))
      throw usage(`'${name}' cannot be the name of a plan`, 'use letters and digits, with - _ . allowed inside')
    return name
  }
  if (out === undefined || out === '-') return undefined
  const { planNameFrom } = await import('../../../format/plan/parse.ts')
  const from = planNameFrom(out)
  return from === null || from === 'plan' ? undefined : from
}

async function write(path: string, shown: string, text: string, { force }: NewOptions): Promise<void> {
  try {
    await writeFile(path, text, { flag: force === true ? 'w' : 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw new CliError(EXIT.refused, 'exists', `'${shown}' is there already`, 'choose another file, or say --force')
    if (code === 'ENOENT') throw usage(`there is no folder for '${shown}'`, 'make it first')
    if (code === 'EISDIR') throw usage(`'${shown}' is a folder`, 'name a file in it')
    throw error
  }
}

function missing(context: Context, template: Template, problems: readonly Problem[], command?: string): CliError {
  const { paint } = context
  const example = exampleCommand(template.name, template.parameters, command)
  if (!context.settings.json) {
    for (const { type, parameter, message, hint } of problems) {
      const declared = template.parameters.find(({ name }) => name === parameter)
      const line =
        type === 'missing' && declared !== undefined
          ? `${paint.bold(parameter)} (${describeType(declared)}): ${declared.about}`
          : `${message}; ${hint}`
      context.stderr.write(`  ${escapeForTerminal(line)}\n`)
    }
  }
  const counted = problems.filter(({ type }) => type === 'missing').length
  const all = problems.map(({ message }) => message).join('; ')
  const what =
    counted === problems.length
      ? `${counted} ${counted === 1 ? 'parameter is' : 'parameters are'} missing`
      : `${problems.length} ${problems.length === 1 ? 'value is' : 'values are'} missing or wrong`
  return new CliError(
    EXIT.usage,
    'parameters',
    context.settings.json ? `${what}: ${all}` : `${what} for the template '${template.name}'`,
    `for instance: ${example}`,
  )
}
