// `planfold template show NAME`: what a template is for, its parameters, and the document itself.

import { describeType } from '../../format/templates/parameters.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit.ts'
import { table } from '../table.ts'
import { findTemplate } from './template-shelf.ts'
import { exampleCommand } from './template-values.ts'

export interface ShowOptions {
  /** Only the parameters, not the document. */
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
      ...(hides ? [paint.yellow('your own; it stands before the stock template of this name')] : []),
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
