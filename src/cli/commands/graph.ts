// `planfold graph PLAN|FILE`: who needs whom, as text, a tree, a document, or for a program that draws. A file is only read.

import { dot } from '../../format/pictures/dot.ts'
import { markdown } from '../../format/pictures/markdown.ts'
import { mermaid } from '../../format/pictures/mermaid.ts'
import { sceneOf } from '../../format/pictures/scene.ts'
import { tree } from '../../format/pictures/tree.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answerDocument } from '../answer.ts'
import type { Context } from '../context.ts'
import { EXIT, usage } from '../exit.ts'
import { text } from '../graph-text.ts'
import { lookAt } from '../looked-at.ts'
import { symbol } from '../paint.ts'

const PICTURES = ['text', 'tree', 'mermaid', 'dot', 'markdown'] as const
export type GraphOptions = { readonly [picture in (typeof PICTURES)[number]]?: boolean }

export async function graph(context: Context, word: string | undefined, options: GraphOptions): Promise<number> {
  const [picture = 'text', ...others] = PICTURES.filter(name => options[name] === true)
  if (others.length > 0) throw usage(`--${picture} and --${others[0]} cannot be shown at once`, 'ask for one of them')
  const { definition, statuses } = await lookAt(context, word, { check: null })
  const scene = sceneOf(definition, statuses)
  const nodes = scene.items.map(({ task, status }) => ({
    name: task.id,
    title: task.title ?? null,
    action: task.action.type,
    status,
  }))
  const edges = scene.edges.map(({ from, to, outcome }) => ({ from, to, on: outcome }))
  answerDocument(context, { name: definition.name, nodes, edges }, () => {
    const { paint } = context
    switch (picture) {
      case 'text':
        return text(scene, paint)
      case 'tree':
        return tree(definition, statuses, { sign: status => symbol(paint, status), dim: paint.dim })
      case 'mermaid':
        return escapeForTerminal(mermaid(definition, statuses), { keepLines: true })
      case 'dot':
        return escapeForTerminal(dot(definition, statuses), { keepLines: true })
      case 'markdown':
        return escapeForTerminal(markdown(definition, statuses).trimEnd(), { keepLines: true })
      default:
        return picture satisfies never
    }
  })
  return EXIT.done
}
