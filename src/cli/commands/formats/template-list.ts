// `planfold template list` and `planfold template show`: built-in templates and your own.

import { describeType } from '../../../operations/templates.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, CliError, type Context, EXIT } from '../../command.ts'
import { table } from '../../terminal/table.ts'
import { exampleCommand } from './template-new.ts'
import { findTemplate, readShelved, type Shelved, shelf } from './template-shelf.ts'

export interface ShowOptions {
  readonly parameters?: boolean
}

export async function templateShow(context: Context, name: string, options: ShowOptions): Promise<number> {
  const { shelved, template } = await findTemplate(context, name)
  const { title, about, version, parameters, hash, text } = template
  const example = exampleCommand(name, parameters)
  const { origin, hides, path } = shelved
  const data = { name, title, about, version, hash, origin, hides, path, parameters, example }
  answer(context, options.parameters === true ? data : { ...data, text }, () => {
    const { paint, terminal } = context
    const rows = parameters.map(parameter => [
      parameter.name,
      describeType(parameter),
      parameter.required
        ? { text: 'required', tint: paint.yellow }
        : parameter.default === null
          ? '-'
          : JSON.stringify(parameter.default),
      parameter.about,
    ])
    const head = [
      `${paint.bold(name)}${title === null ? '' : `: ${escapeForTerminal(title)}`}`,
      ...(about === null ? [] : [escapeForTerminal(about.trim())]),
      ...(hides ? [paint.yellow('your own; used instead of the built-in template of this name')] : []),
      '',
      ...(rows.length === 0
        ? ['It has no parameters.']
        : table(paint, ['parameter', 'type', 'default', 'about'], rows, terminal?.columns() ?? null)),
      '',
      escapeForTerminal(example),
    ]
    return options.parameters === true ? head : [...head, '', escapeForTerminal(text.trimEnd(), { keepLines: true })]
  })
  return EXIT.done
}

export async function templateList(context: Context): Promise<number> {
  const items = await Promise.all((await shelf(context)).map(described))
  answer(context, { items }, () => {
    const { paint, terminal } = context
    const rows = items.map(item => [
      item.name,
      item.hides
        ? { text: 'own, replaces the built-in one', tint: paint.yellow }
        : item.origin === 'stock'
          ? 'built-in'
          : item.origin,
      item.fault !== null
        ? { text: `cannot be used: ${item.fault}`, tint: paint.red }
        : (item.title ?? item.about ?? '').split('\n')[0]!,
    ])
    return [
      ...table(paint, ['template', 'from', 'what it is for'], rows, terminal?.columns() ?? null),
      '',
      paint.dim(`${escapeForTerminal('planfold template show NAME')} shows its parameters`),
    ]
  })
  return EXIT.done
}

/** A template that cannot be read is listed too, with what is wrong. */
async function described(shelved: Shelved) {
  const { name, origin, hides, path } = shelved
  const about = { name, origin, hides, path }
  try {
    const { title, about: text, version, parameters, hash } = await readShelved(shelved)
    return { ...about, title, about: text, version, parameters: parameters.map(one => one.name), hash, fault: null }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { ...about, title: null, about: null, version: null, parameters: [], hash: null, fault: error.message }
  }
}
