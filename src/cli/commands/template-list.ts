// `planfold template list`: the stock templates and one's own.

import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer } from '../answer.ts'
import type { Context } from '../context.ts'
import { Complaint, EXIT } from '../exit.ts'
import { table } from '../table.ts'
import { readShelved, type Shelved, shelf } from './template-shelf.ts'

export async function templateList(context: Context): Promise<number> {
  const items = await Promise.all((await shelf(context)).map(described))
  answer(context, { items }, () => {
    const { paint, terminal } = context
    const rows = items.map(item => [
      item.name,
      item.hides ? { text: 'own, hides the stock one', tint: paint.yellow } : item.origin,
      item.fault !== null
        ? { text: `cannot be used: ${item.fault}`, tint: paint.red }
        : (item.title ?? item.about ?? '').split('\n')[0]!,
    ])
    return [
      ...table(paint, ['template', 'from', 'what it is for'], rows, terminal?.columns() ?? null),
      '',
      paint.dim(`${escapeForTerminal('planfold template show NAME')} tells its parameters`),
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
    if (!(error instanceof Complaint)) throw error
    return { ...about, title: null, about: null, version: null, parameters: [], hash: null, fault: error.message }
  }
}
